package httpapi

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/protocol/agui"
	"example.org/parley/protocol/aisdk"
)

// chats are the requests of the two protocols whose clients name their conversations: where they go, a first message
// with an id and a text, and where a conversation is stopped.
var chats = map[string]struct{ path, body, stop string }{
	"AG-UI": {
		"/agui/asked", `{"threadId":"%s","runId":"r","messages":[{"id":"%s","role":"user","content":"%s"}]}`,
		"/agui/asked/%s/stop",
	},
	"AI SDK": {
		"/ai-sdk/asked", `{"id":"%s","trigger":"submit-message","messages":[{"id":"%s","role":"user",` +
			`"parts":[{"type":"text","text":"%s"}]}]}`,
		"/ai-sdk/asked/%s/stop",
	},
}

func startChats(t *testing.T) *testServer {
	t.Helper()
	s := startServer(t, func(o *Options) {
		o.Mounts = append(o.Mounts, agui.Mount(o.Engine, o.Streams), aisdk.Mount(o.Engine, o.Streams))
	})
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"slug":"asked","name":"Asked","model":"sim/echo"}`)
	return s
}

// speaks sends a message of a conversation, and returns the session that answers.
func (s *testServer) speaks(protocol, chat, id, text string, headers ...string) string {
	s.Helper()
	got := s.do("POST", chats[protocol].path, fmt.Sprintf(chats[protocol].body, chat, id, text), headers...)
	session := got.header.Get("X-Parley-Session")
	if got.status != 200 || session == "" || !strings.Contains(string(got.body), `"delta":"`+text+`"`) {
		s.Errorf("%s: status %d, session %q: %s", protocol, got.status, session, got.body)
	}
	return session
}

// sessionsAsked counts the sessions of the agent that is asked.
func (s *testServer) sessionsAsked(headers ...string) int {
	s.Helper()
	return len(want[page[parley.Session]](s, 200, "GET", "/v1/sessions?agent=asked", "", headers...).Data)
}

// TestFirstMessagesAtOnceAreOneConversation: whatever a client sends at once under a new name is said in one session,
// each message once, also if it is sent again later.
func TestFirstMessagesAtOnceAreOneConversation(t *testing.T) {
	t.Parallel()
	for protocol := range chats {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := startChats(t)
			const several = 4
			answered := make(chan string, 3*several)
			var all sync.WaitGroup
			for i := range 2 * several { // each twice
				all.Go(func() {
					answered <- s.speaks(protocol, "t", fmt.Sprint("m", i%several), fmt.Sprint("Hello", i%several))
				})
			}
			all.Wait()
			for i := range several {
				answered <- s.speaks(protocol, "t", fmt.Sprint("m", i), fmt.Sprint("Hello", i))
			}
			close(answered)
			id := <-answered
			for other := range answered {
				if other != id {
					t.Errorf("one conversation is in the sessions %s and %s", id, other)
				}
			}
			if made := s.sessionsAsked(); made != 1 {
				t.Errorf("%d sessions were made", made)
			}
			if record := s.recordOf("/v1/sessions/" + id); len(record) != 2*several {
				t.Errorf("%d messages are in the record, want %d", len(record), 2*several)
			}
		})
	}
}

// TestAFirstMessageSentAgainMakesNoSession: not with another idempotency key, not for a session made elsewhere, and
// what somebody else sends with the same id is theirs.
func TestAFirstMessageSentAgainMakesNoSession(t *testing.T) {
	t.Parallel()
	for protocol := range chats {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := startChats(t)
			ada := []string{"Authorization", s.key("default", "ada", parley.RoleAdmin)}
			ben := []string{"Authorization", s.key("default", "ben", parley.RoleMember)}
			id := s.speaks(protocol, "t", "m", "Hello", append(ada, "Idempotency-Key", "one")...)
			if again := s.speaks(protocol, "t", "m", "Hello", append(ada, "Idempotency-Key", "two")...); again != id {
				t.Errorf("with another key it is asked in %s, not in %s", again, id)
			}
			made := want[parley.Session](s, 201, "POST", "/v1/sessions",
				`{"agent_id":"asked","visibility":"workspace","message":{"content":{"text":"Here"}}}`, ada...)
			at := "/v1/sessions/" + made.ID.String()
			s.awaitEnd(made.ID.String(), ada...)
			first := s.recordOf(at, ada...)[0].ID.String()
			if again := s.speaks(protocol, made.ID.String(), first, "Here", ada...); again != made.ID.String() {
				t.Errorf("the first message of a session, sent again, is asked in %s", again)
			}
			if record := s.recordOf(at, ada...); len(record) != 2 {
				t.Errorf("it was asked again: %d messages", len(record))
			}
			if s.speaks(protocol, made.ID.String(), first, "Here", ben...); len(s.recordOf(at, ada...)) != 4 {
				t.Errorf("what somebody else says is not in the record")
			}
			if other := s.speaks(protocol, "t", "m", "Hello", ben...); other == id {
				t.Errorf("two principals have one conversation")
			}
			if all := s.sessionsAsked(ada...); all != 3 {
				t.Errorf("there are %d sessions, want 3", all)
			}
			if got := s.do("DELETE", "/v1/sessions/"+id, "", ada...); got.status != 204 {
				t.Fatalf("deleting the session: status %d", got.status)
			}
			if again := s.speaks(protocol, "t", "m", "Hello", ada...); again == id || s.sessionsAsked(ada...) != 3 {
				t.Errorf(
					"after its session was deleted, it is asked in %s; there are %d",
					again,
					s.sessionsAsked(ada...),
				)
			}
		})
	}
}

// TestWhatIsAskedAnewIsAskedOnce: a client of the AI SDK that lost the answer to an edited message, or to one that it
// asked again, gets that answer when it sends the request again, and no other branch.
func TestWhatIsAskedAnewIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := startChats(t)
	send := func(trigger, messageID, text string) (session, answer string) {
		t.Helper()
		got := s.do("POST", "/ai-sdk/asked", fmt.Sprintf(`{"id":"t","trigger":"%s","messageId":"%s","messages":[`+
			`{"id":"m","role":"user","parts":[{"type":"text","text":"%s"}]}]}`, trigger, messageID, text))
		_, rest, found := strings.Cut(string(got.body), `"messageId":"`)
		if got.status != 200 || !found || !strings.Contains(rest, `"delta":"`+text+`"`) {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		answer, _, _ = strings.Cut(rest, `"`)
		return got.header.Get("X-Parley-Session"), answer
	}
	first := s.speaks("AI SDK", "t", "m", "Hello")
	edited, answer := send("submit-message", "m", "Bye")
	if edited == first {
		t.Fatal("the edited message is in the session before")
	}
	again := func(what, trigger, messageID, text, session, answer string, sessions int) {
		t.Helper()
		other, same := send(trigger, messageID, text)
		if made := s.sessionsAsked(); other != session || same != answer || made != sessions {
			t.Errorf("%s, sent again: answer %s in %s, not %s in %s; %d sessions, want %d",
				what, same, other, answer, session, made, sessions)
		}
	}
	again("the edited message", "submit-message", "m", "Bye", edited, answer, 2)
	anew, other := send("regenerate-message", answer, "Bye")
	if anew == edited || other == answer {
		t.Fatal("the answer is the one before")
	}
	again("the question", "regenerate-message", answer, "Bye", anew, other, 3)
	if third, _ := send("regenerate-message", other, "Bye"); third == anew {
		t.Error("another answer is the one before")
	}
	if third, _ := send("submit-message", "m", "Again"); third == anew || s.sessionsAsked() != 5 {
		t.Errorf("another text is not asked in a session of its own: %d sessions", s.sessionsAsked())
	}
}

// TestStoppingAConversation: stop returns 204 with or without a body, also when nothing runs or the conversation does
// not exist.
func TestStoppingAConversation(t *testing.T) {
	t.Parallel()
	s := startChats(t)
	reader := []string{"Authorization", s.key("default", "rea", parley.RoleReader)}
	ada := []string{"Authorization", s.key("default", "ada", parley.RoleAdmin)}
	for protocol, c := range chats {
		s.speaks(protocol, "t", "m", "Hello", ada...)
		for _, chat := range []string{"t", "unknown", parley.NewID().String()} {
			for _, body := range []string{"", "{}", `{"id":"t"}`} {
				if got := s.do("POST", fmt.Sprintf(c.stop, chat), body, ada...); got.status != 204 {
					t.Errorf("%s: stopping %s with %q: status %d: %s", protocol, chat, body, got.status, got.body)
				}
			}
			if got := s.do("POST", fmt.Sprintf(c.stop, chat), "", reader...); got.status != 403 {
				t.Errorf("%s: a reader who stops %s: status %d: %s", protocol, chat, got.status, got.body)
			}
		}
		if got := s.do(
			"POST",
			fmt.Sprintf(c.stop, "t"),
			`{"long":"`+strings.Repeat("x", 2000)+`"}`,
			ada...); got.status != 413 {
			t.Errorf("%s: a long body: status %d", protocol, got.status)
		}
	}
}

// TestTheEndOfAnAnswerSaysWhyItStopped: an AI SDK client learns that an answer was cut.
func TestTheEndOfAnAnswerSaysWhyItStopped(t *testing.T) {
	t.Parallel()
	s := startChats(t)
	want[parley.Agent](s, 200, "PATCH", "/v1/agents/asked", `{"model":"sim/script"}`)
	for script, reason := range map[string]string{
		`[[{"text":"Hello"}]]`:                   "stop",
		`[[{"text":"Hel"},{"finish":"length"}]]`: "length",
	} {
		quoted := strings.ReplaceAll(script, `"`, `\"`)
		got := s.do("POST", chats["AI SDK"].path, fmt.Sprintf(chats["AI SDK"].body, reason, "m", quoted))
		if end := `"type":"finish","finishReason":"` + reason + `"`; !strings.Contains(string(got.body), end) {
			t.Errorf("%s does not end with %s: %s", script, end, got.body)
		}
	}
}
