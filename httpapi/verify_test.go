package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// TestOnlyTheMachinesOwnUserVerifies: a step shows what is of all workspaces. The
// anchor is for admins.
func TestOnlyTheMachinesOwnUserVerifies(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for role, status := range map[parley.PrincipalRole]int{parley.RoleAdmin: http.StatusOK,
		parley.RoleMember: http.StatusForbidden} {
		bearer := s.key("default", string(role), role)
		if got := s.do("GET", "/v1/audit/anchor", "", "Authorization", bearer).status; got != status {
			t.Errorf("the anchor for a %s: %d; want %d", role, got, status)
		}
		if got := s.do("POST", "/v1/verify", "{}", "Authorization", bearer).status; got != http.StatusForbidden {
			t.Errorf("verifying as %s: %d", role, got)
		}
	}
	own := "Bearer " + testToken
	s.do(
		"POST",
		"/v1/sessions/"+s.session("{}", "Authorization", own).ID.String()+"/messages",
		`{"content":{"text":"x"},"respond":false}`,
		"Authorization",
		own,
	)
	verified(t, s)
	if got := s.do(
		"POST",
		"/v1/verify",
		`{"place":"elsewhere"}`,
		"Authorization",
		own,
	).status; got != http.StatusUnprocessableEntity {
		t.Errorf("an unknown place: %d", got)
	}
	begun := 0
	for _, e := range s.auditOf("") {
		if e.Action == "verify" {
			begun++
		}
	}
	if begun != 1 {
		t.Errorf("the audit tells of %d verifications; want 1", begun)
	}
}

// TestADamagedDatabaseIsNotReady: with a sentence that says so, and no detail.
func TestADamagedDatabaseIsNotReady(t *testing.T) {
	t.Parallel()
	var note store.DamageNote
	s := startServer(t, func(o *Options) {
		o.Ready = func(context.Context) error {
			if damage := note.Noted(); damage != nil {
				return damage
			}
			return nil
		}
	})
	if got := s.do("GET", "/readyz", ""); got.status != http.StatusOK {
		t.Fatalf("before: %d", got.status)
	}
	note.Note("page 7 of /secret/place")
	note.Note("another")
	got := s.do("GET", "/readyz", "")
	if got.status != http.StatusServiceUnavailable || !strings.Contains(string(got.body), "damaged") ||
		strings.Contains(string(got.body), "secret") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// verified verifies the whole database as the machine's own user.
func verified(t *testing.T, s *testServer) {
	t.Helper()
	own := "Bearer " + testToken
	step := parley.VerifyStep{}
	body := "{}"
	for range 1000 {
		step = want[parley.VerifyStep](s, http.StatusOK, "POST", "/v1/verify", body, "Authorization", own)
		if len(step.Findings) > 0 {
			t.Fatalf("found: %+v", step.Findings)
		}
		if step.Done {
			break
		}
		next, err := step.Next.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		body = `{"place":"` + string(next) + `"}`
	}
	if !step.Done {
		t.Errorf("the verification ends at %+v", step.Next)
	}
}
