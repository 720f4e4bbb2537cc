package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"example.org/parley"
)

// settled are the states in which nothing runs.
var settled = []parley.TurnStatus{parley.TurnCompleted, parley.TurnFailed, parley.TurnCancelled, parley.TurnWaiting}

// turnSeconds bounds each turn of an attack, for those that do not end by themselves.
const turnSeconds = 4

// send creates a session and starts its turn against the hostile side.
func (s *target) send(key, model, tools, text string) (session string) {
	s.Helper()
	session = s.made(key, "POST", "/v1/sessions", fmt.Sprintf(
		`{"model":%q,"tools":%s,"grants":[{"tool":"*","effect":"allow"}],"limits":{"max_seconds":%d,"max_steps":4},`+
			`"retry_policy":{"retries":1}}`,
		model,
		tools,
		turnSeconds,
	))
	s.made(key, "POST", "/v1/sessions/"+session+"/messages", fmt.Sprintf(`{"content":{"text":%q}}`, text))
	return session
}

// script makes sim/script call one tool and then say "over".
func script(tool, arguments string) string {
	return fmt.Sprintf(`[[{"tool_call":{"name":%q,"arguments":%s}}],[{"text":"over"}]]`, tool, arguments)
}

// outcome waits for the end of a session's turns and returns the session's record.
func (s *target) outcome(key, session, what string) (status parley.TurnStatus, record string) {
	s.Helper()
	s.until("the turn of "+what+" to end", func() bool {
		got := s.ask(key, "GET", "/v1/sessions/"+session+"/turns", "")
		var page struct {
			Data []struct {
				Status parley.TurnStatus `json:"status"`
			}
		}
		if got.status != http.StatusOK || json.Unmarshal([]byte(got.body), &page) != nil || len(page.Data) != 1 {
			s.Fatalf("the turn of %s: status %d: %.400s", what, got.status, got.body)
		}
		status, record = page.Data[0].Status, got.body
		return slices.Contains(settled, status)
	})
	for _, path := range []string{"", "/messages", "/calls"} {
		got := s.ask(key, "GET", "/v1/sessions/"+session+path, "")
		if got.status != http.StatusOK {
			s.Errorf("%s of %s: status %d: %.400s", path, what, got.status, got.body)
		}
		record += got.body
	}
	if strings.Contains(record, secret) {
		s.Errorf("the record of %s holds the credential", what)
	}
	return status, record
}

// survived checks what must hold after every attack: the process lives and completes
// somebody else's turn, the record verifies, and no secret was revealed.
func (s *target) survived(key string) {
	s.Helper()
	if got := s.ask("", "GET", "/healthz", ""); got.status != http.StatusOK {
		s.Errorf("the server's health is %d: %s", got.status, got.body)
	}
	if status, record := s.outcome(
		key,
		s.send(key, "sim/echo", "[]", "still there"),
		"a bystander",
	); status != parley.TurnCompleted {
		s.Errorf("a bystander's turn is %s: %.800s", status, record)
	}
	ctx, stop := context.WithTimeout(s.Context(), settleDeadline)
	defer stop()
	if out, err := command(ctx, s.dir, s.database, "verify", "--fast").CombinedOutput(); err != nil {
		s.Errorf("parley verify: %v: %s", err, out)
	} else if strings.Contains(string(out), secret) {
		s.Error("verify reveals the credential")
	}
	log, err := os.ReadFile(s.log)
	if err != nil {
		s.Fatal(err)
	}
	if strings.Contains(string(log), secret) {
		s.Error("the log holds the credential")
	}
}
