package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/protocol/openai"
)

func withOpenAI(o *Options) { o.Mounts = append(o.Mounts, openai.Mount(o.Engine, o.Streams)) }

// The note of a response is metadata, which everybody may write who may post: it purges no session.
func TestForgedNotesPurgeNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t, withOpenAI)
	owner := []string{"Authorization", s.key("", "owner", parley.RoleMember)}
	other := []string{"Authorization", s.key("", "other", parley.RoleMember)}
	at := "/v1/sessions/" + s.session(`{"visibility":"workspace"}`, owner...).ID.String()
	posted := want[parley.Message](
		s,
		201,
		"POST",
		at+"/messages",
		`{"content":{"text":"Go"},"model":"sim/lorem-400-20","metadata":{"openai.response":{"discarded":true}}}`,
		other...)
	answer := s.request("GET", "/openai/v1/responses/resp_"+posted.ID.String()+"?stream=true", "", owner...)
	read, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(read), "response.completed") {
		t.Fatalf("the stream: status %d, %v, %s", answer.StatusCode, err, read)
	}
	if got := s.do("GET", at, "", owner...); got.status != 200 {
		t.Errorf("its owner's session is gone: status %d", got.status)
	}
}

// A note says where instructions begin; one that lies is no reason to panic.
func TestForgedNotesAreBounded(t *testing.T) {
	t.Parallel()
	s := startServer(t, withOpenAI)
	at := "/v1/sessions/" + s.session(`{"system_prompt":"Be brief."}`).ID.String()
	for _, begins := range []int{-1, 1 << 30} {
		posted := want[parley.Message](s, 201, "POST", at+"/messages", fmt.Sprintf(
			`{"content":{"text":"Go"},"system_prompt":"Be kind.","metadata":{"openai.response":{"instructed":true,`+
				`"prompt":%d,"tools":%[1]d}}}`, begins))
		s.awaitEnd(at[len("/v1/sessions/"):])
		if got := s.do("GET", "/openai/v1/responses/resp_"+posted.ID.String(), ""); got.status != 200 {
			t.Errorf("prompt %d: status %d: %s", begins, got.status, got.body)
		}
	}
}

// Items are listed until they fill a page, however many the client asks for.
func TestListsOfItemsAreBounded(t *testing.T) {
	t.Parallel()
	s := startServer(t, withOpenAI)
	id := s.session(`{}`).ID.String()
	const messages, size = 24, 900 << 10
	body := `{"respond":false,"content":{"text":"` + strings.Repeat("x", size) + `"}}`
	for range messages {
		want[parley.Message](s, 201, "POST", "/v1/sessions/"+id+"/messages", body)
	}
	type list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		Last string `json:"last_id"`
		More bool   `json:"has_more"`
	}
	for _, path := range []string{
		"/openai/v1/conversations/conv_" + id + "/items", "/openai/v1/agents/sessions/asess_" + id + "/items",
	} {
		seen := map[string]bool{}
		for after, pages := "", 0; ; pages++ {
			got := s.do("GET", path+"?limit=100"+after, "")
			var l list
			if err := json.Unmarshal(got.body, &l); err != nil || got.status != 200 || pages > messages {
				t.Fatalf("%s: status %d, %v, after %d pages", path, got.status, err, pages)
			}
			if most := 2*parley.MaxPageBytes + size; len(got.body) > most {
				t.Errorf("%s: a page has %d bytes, want at most %d", path, len(got.body), most)
			}
			for _, item := range l.Data {
				if seen[item.ID] {
					t.Errorf("%s: %s comes twice", path, item.ID)
				}
				seen[item.ID] = true
			}
			if !l.More {
				break
			}
			after = "&after=" + l.Last
		}
		if len(seen) != messages {
			t.Errorf("%s: %d items, want %d", path, len(seen), messages)
		}
	}
}

// TestASessionThatIsNamedIsOfTheAgent: a message goes into the named session if that is of the model's agent.
func TestASessionThatIsNamedIsOfTheAgent(t *testing.T) {
	t.Parallel()
	s := startServer(t, withOpenAI)
	for _, slug := range []string{"one", "other"} {
		want[parley.Agent](s, 201, "POST", "/v1/agents", `{"slug":"`+slug+`","name":"A","model":"sim/echo"}`)
	}
	session := s.session(`{"agent_id":"one"}`).ID.String()
	for _, test := range []struct {
		model, session string
		status         int
		says           string
	}{
		{"one", session, 200, `"content":"Hello"`},
		{"other", session, 400, "X-Parley-Session: names a session of another agent than model does"},
		{"one", parley.NewID().String(), 404, ""},
		{"one", "x", 400, "X-Parley-Session: is not a session's id"},
	} {
		got := s.do(
			"POST",
			"/openai/v1/chat/completions",
			`{"model":"`+test.model+`","messages":[{"role":"user","content":"Hello"}]}`,
			"X-Parley-Session",
			test.session,
		)
		if got.status != test.status || !strings.Contains(string(got.body), test.says) {
			t.Errorf("%s in %s: status %d, want %d, and %q: %s", test.model, test.session, got.status, test.status,
				test.says, got.body)
		}
	}
	if record := s.recordOf("/v1/sessions/" + session); len(record) != 2 {
		t.Errorf("%d messages are in the record, want 2", len(record))
	}
}

// TestAStreamedResponseEndsAsItIsRetrieved: what the events told of a response is what the record has.
func TestAStreamedResponseEndsAsItIsRetrieved(t *testing.T) {
	t.Parallel()
	s := startServer(t, withOpenAI)
	want[parley.Agent](s, 201, "POST", "/v1/agents",
		`{"slug":"asked","name":"Asked","model":"sim/script","tools":["current_time"]}`)
	for name, script := range map[string]string{
		"an answer": `[[{"reasoning":"Hm."},{"text":"Hello."},{"usage":{"input_tokens":9,"output_tokens":8,` +
			`"cached_tokens":7,"cache_write_tokens":6,"reasoning_tokens":5}}]]`,
		"a cut answer":  `[[{"text":"Hel"},{"finish":"length"}]]`,
		"several steps": `[[{"tool_call":{"name":"current_time","arguments":{}}}],[{"text":"Noon."}]]`,
		"a failure":     `[[{"text":"Hel"},{"error":{"class":"model","retryable":false}}]]`,
	} {
		input, err := json.Marshal(script)
		if err != nil {
			t.Fatal(err)
		}
		got := s.do("POST", "/openai/v1/responses", `{"model":"asked","stream":true,"input":`+string(input)+`}`)
		lines := strings.Split(strings.TrimSpace(string(got.body)), "\n\n")
		_, last, _ := strings.Cut(lines[len(lines)-2], "data: ") // the one before [DONE]
		var ended struct{ Response map[string]any }
		if err := json.Unmarshal([]byte(last), &ended); err != nil {
			t.Fatalf("%s: %v: %s", name, err, got.body)
		}
		id, _ := ended.Response["id"].(string)
		retrieved := want[map[string]any](s, 200, "GET", "/openai/v1/responses/"+id, "")
		if diff := cmp.Diff(retrieved, ended.Response); diff != "" {
			t.Errorf("%s ends otherwise (-retrieved +streamed):\n%s", name, diff)
		}
	}
}
