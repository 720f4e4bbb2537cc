package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
)

// aguiClient is a program of the package @ag-ui/client, which says what it checked.
const aguiClient = "clients/agui.mjs"

// HttpAgent of the package @ag-ui/client, unmodified, knows the server by address and key alone. It checks each event
// against the protocol's schema and rules of order.
func TestAGUIClient(t *testing.T) { onEach(t, aguiClients) }

func aguiClients(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	passed := s.clientChecks(t, aguiClient, key, "ask")
	s.kill() // in the middle of an answer that nobody waits for any more
	s = startAt(t, at)
	passed = append(passed, s.clientChecks(t, aguiClient, key, "reload")...)
	passes(t, "ag-ui", map[string][]string{"@ag-ui/client": passed})
}

// The program of docs/clients/ag-ui.md is the one that runs here, and is short.
func TestAGUIProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/ag-ui.md", "clients/agui-program.mjs",
		"PARLEY_AGUI="+s.url+"/agui/parley", "MODEL=sim/echo")
}

// Clients keep their connections while the process that works on their turn dies: the one that began it, and one that
// connected in the middle of its step. What the dead attempt said is taken back.
func TestAGUITakesBackWhatADeadAttemptSaid(t *testing.T) {
	t.Parallel()
	at := shared(t)
	api := startAt(t, at, "--role", "api", "--flush-live", "10ms")
	worker := startAt(t, at.beside(t), "--role", "worker", "--lease", shortLease.String())
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	asks := func(path, body string) (session string, answer io.Reader) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, api.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+api.key())
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response.Header.Get("X-Parley-Session"), response.Body
	}
	session, answer := asks(
		"/agui/parley",
		`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Go on."}],`+
			`"forwardedProps":{"parley":{"model":"sim/lorem-200-20"}}}`,
	)
	first := followAGUI(answer)
	awaitText(t, first)
	_, answer = asks("/agui/parley/connect", `{"threadId":"`+session+`","runId":"r2","messages":[]}`)
	second := followAGUI(answer)
	awaitText(t, second)
	worker.kill()
	startAt(t, at.beside(t), "--role", "worker", "--lease", shortLease.String())
	for who, client := range map[string]*aguiRun{"began": first, "connected": second} {
		<-client.ended
		if client.err != nil {
			t.Fatal(client.err)
		}
		snapshots := 1
		if client == second { // it begins with one
			snapshots = 2
		}
		if client.last != "RUN_FINISHED" || client.snapshots != snapshots || len(client.texts) != 1 {
			t.Fatalf("of the client that %s, the run ended with %s after %d snapshots; it has %q",
				who, client.last, client.snapshots, client.texts)
		}
		var page struct{ Data []parley.Message }
		api.get("/v1/sessions/"+session+"/messages", &page)
		var said parley.AssistantContent
		decode(t, page.Data[len(page.Data)-1].Content, &said)
		for _, text := range client.texts {
			if text == "" || text != said.Text {
				t.Errorf("the client that %s has %q, the record %q", who, text, said.Text)
			}
		}
	}
}

// aguiRun is what a client of AG-UI keeps of one run.
type aguiRun struct {
	spoken chan struct{} // closed once some text has come
	ended  chan struct{} // closed with the run; the rest is read after that

	texts     map[string]string // of the assistant's messages, by id
	snapshots int
	last      string // the type of the last event
	err       error
}

// followAGUI reads a run in the background until it ends.
func followAGUI(body io.Reader) *aguiRun {
	c := &aguiRun{spoken: make(chan struct{}), ended: make(chan struct{}), texts: map[string]string{}}
	spoken := sync.OnceFunc(func() { close(c.spoken) })
	go func() {
		defer close(c.ended)
		for lines := bufio.NewScanner(body); lines.Scan() && c.err == nil; {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var event struct {
				Type, MessageID, Delta string
				Messages               []struct {
					ID, Role string
					Content  json.RawMessage
				}
			}
			if c.err = json.Unmarshal([]byte(data), &event); c.err != nil {
				return
			}
			switch c.last = event.Type; event.Type {
			case "TEXT_MESSAGE_CONTENT":
				c.texts[event.MessageID] += event.Delta
				if len(c.texts[event.MessageID]) > 40 {
					spoken()
				}
			case "MESSAGES_SNAPSHOT":
				c.snapshots++
				c.texts = map[string]string{}
				for _, m := range event.Messages {
					if m.Role == "assistant" {
						var text string
						c.err = json.Unmarshal(m.Content, &text)
						c.texts[m.ID] = text
					}
				}
			}
		}
	}()
	return c
}

func awaitText(t *testing.T, c *aguiRun) {
	t.Helper()
	select {
	case <-c.spoken:
	case <-c.ended:
		t.Fatalf("the run ended with %s before it said something: %v", c.last, c.err)
	}
}
