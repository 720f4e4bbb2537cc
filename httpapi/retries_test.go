package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// retried is the data of step.retrying.
type retried struct {
	Attempt int
	Class   parley.ErrorClass
	WaitMS  int64 `json:"wait_ms"`
}

func retriesOf(t *testing.T, all []frame) (waits []retried) {
	t.Helper()
	for _, f := range all {
		if f.event == string(parley.EventStepRetrying) {
			var one retried
			if err := json.Unmarshal(f.data.Data, &one); err != nil {
				t.Fatal(err)
			}
			waits = append(waits, one)
		}
	}
	return waits
}

// Which failures are tried again, how often, and what is shown of them: class,
// sentence and attempts stand on message, turn, call and events.
func TestRetriesShow(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const quick = `"retry_policy":{"max_wait_ms":2,"sentences":{"rate_limit":"Too busy.","auth":"Ask Ada for a key."}}`
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"once","model":"sim/fail-network-9","retry_policy":{"retries":1,"backoff":"linear","max_wait_ms":2}}`,
	)
	for _, c := range []struct {
		session  string
		class    parley.ErrorClass // "": it answers in the end
		attempts int
		sentence string
	}{
		{`{"model":"sim/fail-rate_limit-2",` + quick + `}`, "", 3, ""},
		{`{"model":"sim/fail-stream-1",` + quick + `}`, "", 2, ""},
		{`{"model":"sim/fail-rate_limit-9",` + quick + `}`, parley.ClassRateLimit, 4, "Too busy."},
		{`{"agent_id":"once"}`, parley.ClassNetwork, 2, parley.ClassNetwork.Sentence()},
		{`{"agent_id":"once","retry_policy":{"retries":0}}`, parley.ClassNetwork, 1, parley.ClassNetwork.Sentence()},
		{`{"model":"sim/fail-auth-9",` + quick + `}`, parley.ClassAuth, 1, "Ask Ada for a key."},
		{`{"model":"sim/fail-content_filter-9",` + quick + `}`, parley.ClassContentFilter, 1,
			parley.ClassContentFilter.Sentence()},
		{`{"model":"sim/fail-context_length-9",` + quick + `}`, parley.ClassContextLength, 1,
			parley.ClassContextLength.Sentence()},
		{`{"model":"sim/fail-model-9",` + quick + `}`, parley.ClassModel, 1, parley.ClassModel.Sentence()},
	} {
		session := s.session(c.session).ID.String()
		all := s.told(session, `{"content":{"text":"Hello"}}`)
		waits := retriesOf(t, all)
		if len(waits) != c.attempts-1 {
			t.Errorf("%s: tried again %d times, want %d", c.session, len(waits), c.attempts-1)
		}
		for i, wait := range waits {
			if wait.Attempt != i+2 || wait.Class == "" || wait.WaitMS > 2 {
				t.Errorf("%s: %+v as retry %d", c.session, wait, i+1)
			}
		}
		calls := want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+session+"/calls", "")
		if len(calls.Data) != c.attempts || calls.Data[0].Attempt != c.attempts {
			t.Errorf("%s: %d calls, want %d", c.session, len(calls.Data), c.attempts)
		}
		turn := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data[0]
		answer := want[page[parley.Message]](s, 200, "GET",
			"/v1/sessions/"+session+"/messages?role=assistant", "").Data[0]
		if c.class == "" {
			if turn.Status != parley.TurnCompleted || answer.Status != parley.MessageCompleted {
				t.Errorf("%s: turn %s, answer %s", c.session, turn.Status, answer.Status)
			}
			continue
		}
		for where, failure := range map[string]*parley.Failure{"turn": turn.Error, "message": answer.Error,
			"call": calls.Data[0].Error} {
			if failure == nil || failure.Class != c.class || failure.Attempts != c.attempts ||
				failure.Sentence != c.sentence {
				t.Errorf(
					"%s: the %s says %+v, want %s %q after %d",
					c.session,
					where,
					failure,
					c.class,
					c.sentence,
					c.attempts,
				)
			}
		}
		entries := want[page[engine.Entry]](s, 200, "GET", "/v1/sessions/"+session+"/messages?view=transcript", "").Data
		if blocks := entries[len(entries)-1].Blocks; len(blocks) != 1 || blocks[0].Type != engine.BlockError {
			t.Errorf("%s: the transcript ends with %+v", c.session, blocks)
		}
	}
}

// A provider's Retry-After is a floor; beyond a minute the turn fails and says
// until when.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	post := func(script string) (string, []frame) {
		session := s.session(`{"model":"sim/script","retry_policy":{"max_wait_ms":1}}`).ID.String()
		return session, s.told(session, fmt.Sprintf(`{"content":{"text":%q}}`, script))
	}
	_, all := post(`[[{"error":{"class":"rate_limit","retry_after_ms":60,"attempts":1}},{"text":"ok"}]]`)
	if waits := retriesOf(
		t,
		all,
	); len(waits) != 1 || waits[0].WaitMS < 60 ||
		all[len(all)-1].event != "session.completed" {
		t.Errorf("waits %+v, then %s", waits, all[len(all)-1].event)
	}
	session, all := post(`[[{"error":{"class":"rate_limit","retry_after_ms":120000}}]]`)
	turn := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data[0]
	if all[len(all)-1].event != "session.failed" || len(retriesOf(t, all)) != 0 ||
		turn.Error.Class != parley.ClassRateLimit ||
		turn.Error.RetryAt <= turn.CreatedAt ||
		!strings.Contains(turn.Error.Sentence, turn.Error.RetryAt.String()) {
		t.Errorf("a long Retry-After: %s, %+v", all[len(all)-1].event, turn.Error)
	}
	for field, policy := range map[string]string{"retries": `{"retries":-1}`, "backoff": `{"backoff":"x"}`,
		"max_wait_ms": `{"max_wait_ms":10001}`, "sentences": `{"sentences":{"weather":"x"}}`} {
		if got := s.do(
			"POST",
			"/v1/sessions",
			`{"retry_policy":`+policy+`}`,
		); got.status != 422 ||
			got.problem(t).Errors[0].Field != "retry_policy."+field {
			t.Errorf("%s: status %d %s", policy, got.status, got.body)
		}
	}
}

// What a failed or cancelled answer leaves in later requests: nothing, and the
// part that was there.
func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/script"}`).ID.String()
	all := s.told(
		session,
		fmt.Sprintf(`{"content":{"text":%q}}`, `[[{"text":"half a sen"},{"error":{"class":"stream"}}]]`),
	)
	if all[len(all)-1].event != "session.failed" || len(retriesOf(t, all)) != 0 {
		t.Errorf("a failure after text: %s, tried again %d times", all[len(all)-1].event, len(retriesOf(t, all)))
	}
	failed := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages?status=failed", "").Data
	if len(failed) != 1 || short(failed[0]) != `{"text":"half a sen"}` ||
		failed[0].Error.Class != parley.ClassStream {
		t.Fatalf("failed %+v", failed)
	}
	s.told(session, `{"content":{"text":"Go on"},"model":"sim/echo"}`)
	last := s.lastCall(session)
	for _, span := range last.Manifest.Ranges {
		if span.From <= failed[0].Sequence && failed[0].Sequence <= span.To {
			t.Errorf("the manifest %+v holds the failed answer", last.Manifest)
		}
	}
}
