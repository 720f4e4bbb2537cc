package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"parley"
	"parley/engine"
)

func TestABrowserSignsInAndOut(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := want[engine.NewKey](s, http.StatusCreated, "POST", "/v1/keys", `{"name":"page","role":"member"}`)
	if got := s.do("POST", "/v1/sign-in", `{"key":"pk_unknown"}`); got.status != http.StatusUnauthorized || got.header.Get("Set-Cookie") != "" {
		t.Errorf("an unknown key: status %d, cookie %q", got.status, got.header.Get("Set-Cookie"))
	}
	if got := s.do("POST", "/v1/sign-in", `{"key":"a;b"}`); got.status != http.StatusUnauthorized || strings.Contains(string(got.body), "a;b") {
		t.Errorf("a key that is no cookie: status %d %s", got.status, got.body)
	}
	in := s.do("POST", "/v1/sign-in", `{"key":" `+key.Secret+` "}`)
	set := in.header.Get("Set-Cookie")
	if in.status != http.StatusOK || strings.Contains(string(in.body), key.Secret) {
		t.Fatalf("sign in: status %d %s", in.status, in.body)
	}
	for _, attribute := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(set, attribute) {
			t.Errorf("the cookie %q is not %s", set, attribute)
		}
	}
	if strings.Contains(set, "Secure") {
		t.Error("over plain HTTP a Secure cookie would be dropped")
	}
	if got := s.do("POST", "/v1/sign-in", `{"key":"`+key.Secret+`"}`, "X-Forwarded-Proto", "https"); !strings.Contains(got.header.Get("Set-Cookie"), "Secure") {
		t.Error("behind TLS the cookie is not Secure")
	}
	cookie, _, _ := strings.Cut(set, ";")
	if who := want[parley.Principal](s, http.StatusOK, "GET", "/v1/principal", "", "Cookie", cookie); who.ID != key.PrincipalID {
		t.Errorf("the cookie is of %+v, want the key's principal", who)
	}
	if got := s.do("POST", "/v1/agents", `{"name":"Theirs"}`, "Cookie", cookie, "Origin", "https://elsewhere.example"); got.status != http.StatusForbidden {
		t.Errorf("a page of another site wrote with the cookie: status %d", got.status)
	}
	out := s.do("DELETE", "/v1/sign-in", "", "Cookie", cookie)
	if out.status != http.StatusNoContent || !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("sign out: status %d, cookie %q", out.status, out.header.Get("Set-Cookie"))
	}
	want[struct{}](s, http.StatusNoContent, "DELETE", "/v1/keys/"+key.ID.String(), "", "Authorization", "Bearer "+testToken)
	_ = want[engine.NewKey](s, http.StatusCreated, "POST", "/v1/keys", `{"name":"other"}`, "Authorization", "Bearer "+testToken)
	if got := s.do("GET", "/v1/principal", "", "Cookie", cookie); got.status != http.StatusUnauthorized {
		t.Errorf("the cookie of a revoked key: status %d", got.status)
	}
	if strings.Contains(s.log.String(), key.Secret) {
		t.Error("the log holds the key")
	}
}
