package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/protocol/anthropic"
)

func withAnthropic(o *Options) { o.Mounts = append(o.Mounts, anthropic.Mount(o.Engine, o.Streams)) }

// TestWorkersRunTheirOwnersCallsAlone: a session that somebody else shares under the name of one's environment is no
// work for one's worker, which would run its calls on one's machine. Nor does anybody else put a session there.
func TestWorkersRunTheirOwnersCallsAlone(t *testing.T) {
	t.Parallel()
	s := startServer(t, withAnthropic)
	owner := []string{"Authorization", s.key("", "owner", parley.RoleMember)}
	other := []string{"Authorization", s.key("", "other", parley.RoleMember)}
	const poll = "/anthropic/v1/environments/env_own/work/poll"
	asks := func(headers []string) string {
		t.Helper()
		session := s.session(`{"visibility":"workspace","tags":["anthropic-environment:own"],"model":"sim/script",`+
			`"tools":[{"name":"run","parameters":{"type":"object"}}]}`, headers...)
		at := "/v1/sessions/" + session.ID.String()
		s.plays(at, []string{call("run", map[string]string{})}, headers...)
		s.stream("GET", at+"/events", "", headers...).until("session.waiting")
		return at
	}
	at := asks(other)
	if got := s.do("GET", poll, "", owner...); got.status != 200 || strings.TrimSpace(string(got.body)) != "null" {
		t.Errorf("the worker was given somebody else's session: status %d, %s", got.status, got.body)
	}
	id := at[len("/v1/sessions/"):]
	if got := s.do("POST", strings.TrimSuffix(poll, "poll")+"work_"+id+"/ack", "", owner...); got.status != 404 {
		t.Errorf("somebody else's session is acknowledged: status %d, %s", got.status, got.body)
	}
	mine := asks(owner)
	if got := s.do("PATCH", mine, `{"tags":["anthropic-environment:theirs"]}`, other...); got.status != 403 {
		t.Errorf("somebody else moves a session to an environment: status %d, %s", got.status, got.body)
	}
	if got := s.do("GET", poll, "", owner...); !strings.Contains(string(got.body), mine[len("/v1/sessions/"):]) {
		t.Errorf("the worker was given %s", got.body)
	}
}

// TestEventsOfLongMessagesAreBounded: a page of events ends with the bytes of what they tell, and the next one goes on.
func TestEventsOfLongMessagesAreBounded(t *testing.T) {
	t.Parallel()
	s := startServer(t, withAnthropic)
	id := s.session(`{}`).ID.String()
	const messages, size = 24, 900 << 10
	body := `{"respond":false,"content":{"text":"` + strings.Repeat("x", size) + `"}}`
	for range messages {
		want[parley.Message](s, 201, "POST", "/v1/sessions/"+id+"/messages", body)
	}
	seen := map[string]bool{}
	for page, pages := "", 0; ; pages++ {
		got := s.do("GET", "/anthropic/v1/sessions/sesn_"+id+"/events?limit=1000"+page, "")
		var list struct {
			Data []struct{ ID, Type string }
			Next *string `json:"next_page"`
		}
		if err := json.Unmarshal(got.body, &list); err != nil || got.status != 200 || pages > messages {
			t.Fatalf("status %d, %v, after %d pages: %.300s", got.status, err, pages, got.body)
		}
		if most := parley.MaxPageBytes + 2*size; len(got.body) > most {
			t.Errorf("a page has %d bytes, want at most %d", len(got.body), most)
		}
		for _, e := range list.Data {
			if e.Type == "user.message" {
				if seen[e.ID] {
					t.Errorf("%s comes twice", e.ID)
				}
				seen[e.ID] = true
			}
		}
		if list.Next == nil {
			break
		}
		page = "&page=" + *list.Next
	}
	if len(seen) != messages {
		t.Errorf("%d messages, want %d", len(seen), messages)
	}
}

// TestManagedStreamsKeepNoPlaces: streams of events do not count among the requests that run at once.
func TestManagedStreamsKeepNoPlaces(t *testing.T) {
	t.Parallel()
	s := startServer(t, withAnthropic)
	id := s.session(`{}`).ID.String()
	for range readsOfOne + 1 {
		s.stream("GET", "/anthropic/v1/sessions/sesn_"+id+"/events/stream", "")
	}
	if got := s.do("GET", "/anthropic/v1/sessions/sesn_"+id, ""); got.status != 200 {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}
