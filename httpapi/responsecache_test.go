package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.org/parley"
)

// answerOf posts to a new session of an agent and reads the text that streams.
func (s *testServer) answerOf(session, text string) (answer, at string) {
	s.Helper()
	at = s.session(session).ID.String()
	var streamed strings.Builder
	for _, f := range s.told(at, `{"content":{"text":"`+text+`"}}`) {
		var delta struct {
			Text string `json:"delta"`
		}
		if f.event == "step.generating" {
			if err := json.Unmarshal(f.data.Data, &delta); err != nil {
				s.Fatal(err)
			}
			streamed.WriteString(delta.Text)
		}
	}
	return streamed.String(), at
}

// cacheWith reads the response cache until it has stored so many answers: they are
// written when their turns are over.
func (s *testServer) cacheWith(stored int64) parley.ResponseCacheState {
	s.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if state := want[parley.ResponseCacheState](s, 200, "GET", "/v1/cache", ""); state.Stored >= stored {
			return state
		}
	}
	s.Fatalf("the cache never stored %d answers", stored)
	return parley.ResponseCacheState{}
}

// An agent asks for the cache: its second equal conversation streams the same text
// and says where it came from; a dry run has nothing to do with it, a session may do
// without, and a clear empties it.
func TestResponseCache(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"thrifty","model":"tariff/echo","response_cache":{}}`,
	)
	if agent.ResponseCache == nil || agent.ResponseCache.TTL() != parley.DefaultResponseTTL {
		t.Errorf("the agent has %+v", agent.ResponseCache)
	}
	const session = `{"agent_id":"thrifty"}`
	first, at := s.answerOf(session, "the same words")
	cost := s.lastCall(at).Cost
	s.cacheWith(1)
	second, other := s.answerOf(session, "the same words")
	call := s.lastCall(other)
	if first == "" || second != first || !call.Manifest.CachedResponse || *call.Cost != 0 || cost == nil ||
		*cost == 0 ||
		call.Cache.Saved == nil ||
		*call.Cache.Saved != *cost {
		t.Errorf(
			"streamed %q and %q; the second call: %+v, cost %v, cache %+v; the first cost %v",
			first,
			second,
			call.Manifest,
			call.Cost,
			call.Cache,
			cost,
		)
	}
	if raw := s.do(
		"GET",
		"/v1/calls/"+call.ID.String(),
		"",
	); !strings.Contains(
		string(raw.body),
		`"cached_response":true`,
	) {
		t.Errorf("the call does not say so: %s", raw.body)
	}

	plain, at := s.answerOf(`{"agent_id":"thrifty","response_cache":{"ttl_seconds":0}}`, "the same words")
	if s.lastCall(at).Manifest.CachedResponse || plain != first {
		t.Errorf("a session without it streamed %q", plain)
	}
	before := s.cacheWith(1)
	if got := s.do(
		"POST",
		"/v1/sessions",
		`{"agent_id":"thrifty","message":{"content":{"text":"the same words"}},"dry_run":true}`,
	); got.status >= 500 {
		t.Errorf("a dry run: status %d %s", got.status, got.body)
	}
	if got := s.do(
		"POST",
		"/v1/sessions/"+other+"/messages",
		`{"content":{"text":"more"},"dry_run":true}`,
	); got.status != 200 {
		t.Errorf("a dry run: status %d %s", got.status, got.body)
	}
	_, _ = s.answerOf(session, "other words")
	if after := s.cacheWith(
		2,
	); after.Misses != before.Misses+1 || after.Hits != 1 || after.Entries != 2 ||
		after.Saved != *cost {
		t.Errorf("before %+v, after %+v", before, after)
	}

	if got := s.do("DELETE", "/v1/cache", ""); got.status != 204 {
		t.Errorf("clear: status %d %s", got.status, got.body)
	}
	if state := s.cacheWith(2); state.Entries != 0 || state.Bytes != 0 {
		t.Errorf("cleared, it holds %+v", state)
	}
	if _, at = s.answerOf(session, "the same words"); s.lastCall(at).Manifest.CachedResponse {
		t.Error("cleared, it answers still")
	}
	for _, body := range []string{`{"ttl_seconds":-1}`, `{"ttl_seconds":2592001}`, `{"ttl":1}`, `true`} {
		if got := s.do("PATCH", "/v1/agents/thrifty", `{"response_cache":`+body+`}`); got.status != 422 {
			t.Errorf("%s: status %d %s", body, got.status, got.body)
		}
	}
	if off := want[parley.Agent](
		s,
		200,
		"PATCH",
		"/v1/agents/thrifty",
		`{"response_cache":null}`,
	); off.ResponseCache != nil {
		t.Errorf("turned off: %+v", off.ResponseCache)
	}
}
