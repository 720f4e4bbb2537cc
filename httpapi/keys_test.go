package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"parley"
	"parley/engine"
)

func TestKeylessLoopbackIsTheLocalOwner(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	who := want[parley.Principal](s, http.StatusOK, "GET", "/v1/principal", "")
	if who.Workspace != parley.DefaultWorkspace || who.Role != parley.RoleAdmin {
		t.Errorf("principal %+v, want the admin of workspace default", who)
	}
	other := want[parley.Principal](s, http.StatusOK, "GET", "/v1/principal", "", "Authorization", "Bearer "+testToken, "Parley-Workspace", "studio")
	if other.Workspace != "studio" || other.Role != parley.RoleAdmin || other.WorkspaceID == who.WorkspaceID {
		t.Errorf("principal %+v, want the admin of workspace studio", other)
	}
	if got := s.do("GET", "/v1/principal", "", "Parley-Workspace", "studio"); got.status != http.StatusForbidden {
		t.Errorf("a workspace chosen without the token: status %d", got.status)
	}
}

func TestBeyondLoopbackNothingWorksWithoutKey(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *Options) { o.Loopback = false })
	got := s.do("GET", "/v1/agents", "")
	if got.status != http.StatusUnauthorized || !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("status %d, WWW-Authenticate %q", got.status, got.header.Get("WWW-Authenticate"))
	}
	got.problem(t)
	for _, path := range []string{"/healthz", "/readyz", "/v1/openapi.json", "/docs"} {
		if got := s.do("GET", path, ""); got.status != http.StatusOK {
			t.Errorf("%s: status %d, want 200 without a key", path, got.status)
		}
	}
}

// From the first key on every request needs one, on loopback too, and the last
// revocation opens the door again.
func TestFirstKeyClosesTheDoor(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := want[engine.NewKey](s, http.StatusCreated, "POST", "/v1/keys", `{"name":"ci"}`)
	if key.Secret == "" || key.Role != parley.RoleAdmin || !strings.HasPrefix(key.Secret, key.Prefix) {
		t.Fatalf("key %+v", key.Key)
	}
	for _, authorization := range []string{"", "Bearer pk_unknown", "Basic abc", "Bearer"} {
		got := s.do("GET", "/v1/agents", "", "Authorization", authorization)
		if got.status != http.StatusUnauthorized {
			t.Errorf("Authorization %q: status %d, want 401", authorization, got.status)
		}
		if problem := got.problem(t); problem.Code != parley.CodeUnauthenticated {
			t.Errorf("code %s", problem.Code)
		}
	}
	bearer := "Bearer " + key.Secret
	if who := want[parley.Principal](s, http.StatusOK, "GET", "/v1/principal", "", "Authorization", bearer); who.Kind != parley.AuthorService {
		t.Errorf("principal %+v, want a service", who)
	}
	if got := s.do("GET", "/v1/agents", "", "Authorization", bearer, "Parley-Workspace", "other"); got.status != http.StatusForbidden {
		t.Errorf("a key naming another workspace: status %d", got.status)
	}
	if got := s.do("POST", "/v1/keys", `{"name":"x","workspace":"other"}`, "Authorization", bearer); got.status != http.StatusForbidden {
		t.Errorf("a key made for another workspace by a key: status %d", got.status)
	}
	listed := s.do("GET", "/v1/keys", "", "Authorization", bearer)
	if strings.Contains(string(listed.body), key.Secret) {
		t.Error("the list of keys shows a secret")
	}
	if got := s.do("DELETE", "/v1/keys/"+key.ID.String(), "", "Authorization", bearer); got.status != http.StatusNoContent {
		t.Fatalf("revoke: status %d %s", got.status, got.body)
	}
	if got := s.do("GET", "/v1/agents", ""); got.status != http.StatusOK {
		t.Errorf("after the last revocation: status %d, want the local owner again", got.status)
	}
	if log := s.log.String(); strings.Contains(log, key.Secret) || strings.Contains(log, testToken) {
		t.Error("the log holds a secret")
	}
}
