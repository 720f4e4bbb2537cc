package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
)

// Each operation of the document has one kind of answer: one media type, and JSON of one schema for each status. What
// is left are the two that are asked for a form by a parameter, and pictures.
func TestOperationsHaveOneKindOfAnswer(t *testing.T) {
	t.Parallel()
	encoded, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	type operation struct {
		OperationID string `json:"operationId"`
		AliasOf     string `json:"x-alias-of"`
		Responses   map[string]struct{ Content map[string]json.RawMessage }
	}
	var document struct {
		Paths map[string]map[string]operation
	}
	if err := json.Unmarshal(encoded, &document); err != nil {
		t.Fatal(err)
	}
	operations := map[string]operation{}
	for _, item := range document.Paths {
		for _, o := range item {
			operations[o.OperationID] = o
		}
	}
	byParameter := map[string]bool{"exportSession": true, "getThumbnail": true}
	for id, o := range operations {
		media := map[string]bool{}
		for status, response := range o.Responses {
			for one := range response.Content {
				if status[0] == '2' {
					media[one] = true
				}
			}
		}
		base, isAlias := strings.CutSuffix(id, "OfAgent")
		if len(media) > 1 && !byParameter[base] {
			t.Errorf("%s answers in several media types: %v", id, media)
		}
		if isAlias && (o.AliasOf != base || operations[base].OperationID == "" || operations[base].AliasOf != "") {
			t.Errorf("%s is an alias of %q", id, o.AliasOf)
		} else if !isAlias && o.AliasOf != "" {
			t.Errorf("%s is not another path of %s", id, o.AliasOf)
		}
	}
	for _, id := range []string{"createSession", "ensureSession", "postMessage", "forkSession", "editMessage",
		"regenerateMessage", "retryTurn", "continueTurn", "replayCall"} {
		if operations[id+"Stream"].OperationID == "" {
			t.Errorf("the stream of %s has no path of its own", id)
		}
	}
}

// The path of a stream answers with frames, whatever Accept says; with none where no turn begins.
func TestPathsOfStreams(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.session(`{"model":"sim/echo"}`).ID.String()
	at := "/v1/sessions/" + id
	s.stream("POST", at+"/messages/stream", `{"content":{"text":"Hi"}}`, "Accept", "application/json").
		until("session.completed")
	s.stream("POST", "/v1/sessions/stream", `{"model":"sim/echo","message":{"content":{"text":"Hi"}}}`).
		until("session.completed")
	asked := want[page[parley.Message]](s, 200, "GET", at+"/messages?role=user", "").Data[0].ID.String()
	s.stream("POST", at+"/fork/stream", `{"at":"`+asked+`","message":{"content":{"text":"Again"}}}`).
		until("session.completed")
	s.stream("POST", "/v1/messages/"+asked+"/regenerate/stream", `{}`).until("session.completed")
	call := s.lastCall(id).ID.String()
	s.stream("POST", "/v1/calls/"+call+"/replay/stream", `{}`).until("replay.completed")

	for path, body := range map[string]string{
		at + "/messages/stream":             `{"content":{"text":"No answer."},"respond":false}`,
		"/v1/sessions/stream":               `{}`,
		"/v1/sessions/by-key/stream":        `{"key":"k"}`,
		"/v1/agents/parley/sessions/stream": `{}`,
	} {
		method := "POST"
		if strings.Contains(path, "by-key") {
			method = "PUT"
		}
		got := s.do(method, path, body)
		if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), eventStream) ||
			len(got.body) > 0 {
			t.Errorf("%s: status %d, %s: %s", path, got.status, got.header.Get("Content-Type"), got.body)
		}
		if got.header.Get("Location") == "" {
			t.Errorf("%s does not say what was made", path)
		}
	}
	if record := want[page[parley.Message]](s, 200, "GET", at+"/messages?role=user", "").Data; len(record) != 2 {
		t.Errorf("%d messages, want 2", len(record))
	}
	for _, entry := range s.auditOf(id) {
		if strings.HasSuffix(entry.Action, "Stream") {
			t.Errorf("the audit has a form of an answer for an action: %s", entry.Action)
		}
	}
}
