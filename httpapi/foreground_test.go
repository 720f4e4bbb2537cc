package httpapi

import (
	"encoding/json"
	"sync"
	"testing"

	"example.org/parley"
)

// TestForegroundFirsts: people's sessions with an agent are made once each, however many first requests come at once.
func TestForegroundFirsts(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.member(`{"name":"Lead"}`)
	const firsts = 50
	var together sync.WaitGroup
	answers := make([]reply, firsts)
	for i := range answers {
		together.Go(func() { answers[i] = s.do("PUT", "/v1/agents/lead/foreground", "") })
	}
	together.Wait()
	made, ids := 0, map[parley.ID]bool{}
	for i := range answers {
		switch answers[i].status {
		case 201:
			made++
		case 200:
		default:
			t.Errorf("a first request: status %d: %s", answers[i].status, answers[i].body)
			continue
		}
		var session parley.Session
		if err := json.Unmarshal(answers[i].body, &session); err != nil {
			t.Fatal(err)
		}
		ids[session.ID] = true
	}
	if made != 1 || len(ids) != 1 {
		t.Errorf("%d of %d requests made a session, and they saw %d sessions", made, firsts, len(ids))
	}
}
