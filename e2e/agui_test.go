package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
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

// A client keeps its connection while the process that works on its turn dies. What the dead attempt said is taken
// back.
func TestAGUITakesBackWhatADeadAttemptSaid(t *testing.T) {
	t.Parallel()
	at := shared(t)
	api := startAt(t, at, "--role", "api", "--flush-live", "10ms")
	worker := startAt(t, at.beside(t), "--role", "worker", "--lease", shortLease.String())
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, api.url+"/agui/parley", strings.NewReader(
		`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Go on."}],`+
			`"forwardedProps":{"parley":{"model":"sim/lorem-200-20"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+api.key())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	texts := map[string]string{} // as a client keeps them
	snapshots, last := 0, ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
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
		decode(t, []byte(data), &event)
		switch last = event.Type; event.Type {
		case "TEXT_MESSAGE_CONTENT":
			texts[event.MessageID] += event.Delta
			if worker != nil && len(texts[event.MessageID]) > 40 {
				worker.kill()
				worker = nil
				startAt(t, at.beside(t), "--role", "worker", "--lease", shortLease.String())
			}
		case "MESSAGES_SNAPSHOT":
			snapshots++
			texts = map[string]string{}
			for _, m := range event.Messages {
				if m.Role == "assistant" {
					var text string
					decode(t, m.Content, &text)
					texts[m.ID] = text
				}
			}
		}
	}
	if last != "RUN_FINISHED" || snapshots != 1 || len(texts) != 1 {
		t.Fatalf("the run ended with %s after %d snapshots; the client has %q", last, snapshots, texts)
	}
	var page struct{ Data []parley.Message }
	api.get("/v1/sessions/"+response.Header.Get("X-Parley-Session")+"/messages", &page)
	var said parley.AssistantContent
	decode(t, page.Data[len(page.Data)-1].Content, &said)
	for _, text := range texts {
		if text == "" || text != said.Text {
			t.Errorf("the client has %q, the record %q", text, said.Text)
		}
	}
}
