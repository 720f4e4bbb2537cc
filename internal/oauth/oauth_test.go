package oauth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"example.org/parley/internal/oauth"
)

// hostile is an authorization server, and the resource before it, whose answers a test replaces.
type hostile struct {
	url   string
	says  map[string]string // by path; "" in front of it: 404
	asked []string
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.asked = append(h.asked, r.URL.Path)
		text, ok := h.says[r.URL.Path]
		switch {
		case r.URL.Path == "/mcp":
			w.Header().Set("WWW-Authenticate", `Bearer scope="a b", resource_metadata="`+h.url+`/meta"`)
			w.WriteHeader(http.StatusUnauthorized)
		case !ok:
			http.NotFound(w, r)
		case strings.HasPrefix(text, "→"):
			http.Redirect(w, r, strings.TrimPrefix(text, "→"), http.StatusTemporaryRedirect)
		default:
			_, _ = fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(web.Close)
	h.url = web.URL
	h.says = map[string]string{
		"/meta": `{"resource":"` + h.url + `/mcp","authorization_servers":["` + h.url + `"]}`,
		"/.well-known/oauth-authorization-server": `{"issuer":"` + h.url + `","authorization_endpoint":"` + h.url +
			`/authorize","token_endpoint":"` + h.url + `/token","registration_endpoint":"` + h.url + `/register"}`,
		"/register": `{"client_id":"me"}`,
		"/token":    `{"access_token":"good","token_type":"Bearer"}`,
	}
	return h
}

// attempt goes the whole way to a token.
func (h *hostile) attempt(t *testing.T, client *oauth.Client, issuer string) (oauth.Token, error) {
	t.Helper()
	at, err := client.Discover(t.Context(), h.url+"/mcp")
	if err != nil {
		return oauth.Token{}, err
	}
	id, err := client.RegisterClient(t.Context(), &at, "http://127.0.0.1:1/callback")
	if err != nil {
		return oauth.Token{}, err
	}
	made, address, err := oauth.NewRequest(at, id, "http://127.0.0.1:1/callback")
	if err != nil {
		return oauth.Token{}, err
	}
	asked, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if q := asked.Query(); q.Get("scope") != "a b" || q.Get("code_challenge_method") != "S256" ||
		q.Get("resource") != h.url+"/mcp" || q.Get("state") != made.State {
		t.Errorf("it asks %v", q)
	}
	return client.Redeem(t.Context(), &made, "code", issuer)
}

// TestHostileAuthorizationServers: whatever an authorization server says, no token of it is used that is not one, and
// nothing is sent elsewhere.
func TestHostileAuthorizationServers(t *testing.T) {
	t.Parallel()
	const metadata = "/.well-known/oauth-authorization-server"
	for name, c := range map[string]struct {
		path, says, issuer, want string
	}{
		"another resource": {
			path: "/meta",
			says: `{"resource":"https://bank.example/mcp","authorization_servers":["https://x.example"]}`,
			want: "another resource",
		},
		"a resource like ours": {
			path: "/meta",
			says: `{"resource":"URL/mc","authorization_servers":["https://x.example"]}`,
			want: "another resource",
		},
		"no server": {
			path: "/meta",
			says: `{"resource":"URL/mcp"}`,
			want: "no authorization server",
		},
		"a server of no scheme": {
			path: "/meta",
			says: `{"resource":"URL/mcp","authorization_servers":["javascript:alert(1)"]}`,
			want: "not an https address",
		},
		"another issuer": {
			path: metadata,
			says: `{"issuer":"https://evil.example","token_endpoint":"URL/token"}`,
			want: "another one",
		},
		"a script as a page": {
			path: metadata,
			says: `{"issuer":"URL","authorization_endpoint":"javascript:alert(1)",` +
				`"token_endpoint":"URL/token"}`,
			want: "without https",
		},
		"a file as an endpoint": {
			path: metadata,
			says: `{"issuer":"URL","token_endpoint":"file:///etc/passwd"}`,
			want: "without https",
		},
		"no page": {
			path: metadata,
			says: `{"issuer":"URL","token_endpoint":"URL/token","registration_endpoint":"URL/register"}`,
			want: "no page",
		},
		"plain PKCE": {
			path: metadata,
			says: `{"issuer":"URL","authorization_endpoint":"URL/a",` +
				`"token_endpoint":"URL/token","registration_endpoint":"URL/register",` +
				`"code_challenge_methods_supported":["plain"]}`,
			want: "PKCE",
		},
		"no registration": {
			path: metadata,
			says: `{"issuer":"URL","authorization_endpoint":"URL/a","token_endpoint":"URL/token"}`,
			want: "registers no clients",
		},
		"metadata without end": {
			path: metadata,
			says: `{"issuer":"` + strings.Repeat("x", 1<<20),
			want: "no metadata",
		},
		"metadata elsewhere":  {path: metadata, says: "→URL/token", want: "no metadata"},
		"a client without id": {path: "/register", says: `{"client_id":""}`, want: "usable id"},
		"a token elsewhere":   {path: "/token", says: "→URL/elsewhere", want: "answered 307"},
		"no token":            {path: "/token", says: `{"token_type":"Bearer"}`, want: "cannot be used"},
		"a token with a header": {
			path: "/token",
			says: `{"access_token":"a\r\nX: y","token_type":"Bearer"}`,
			want: "cannot be used",
		},
		"a token of a kilometre": {
			path: "/token",
			says: `{"access_token":"` + strings.Repeat("a", 9<<10) + `","token_type":"Bearer"}`,
			want: "cannot be used",
		},
		"another kind of token": {
			path: "/token",
			says: `{"access_token":"a","token_type":"mac"}`,
			want: "of a kind",
		},
		"no JSON": {path: "/token", says: `<html>`, want: "not the JSON"},
		"a mixed-up answer": {
			path: "/none", issuer: "https://evil.example",
			want: "another authorization server",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			h.says[c.path] = strings.ReplaceAll(c.says, "URL", h.url)
			client := oauth.NewClient(true)
			defer client.Close()
			token, err := h.attempt(t, client, c.issuer)
			if err == nil || !strings.Contains(err.Error(), c.want) || token.Access != "" {
				t.Errorf("%+v, %v; want an error with %q", token, err, c.want)
			}
			for _, path := range h.asked {
				if path == "/elsewhere" {
					t.Error("it followed a redirect")
				}
			}
		})
	}
	h := newHostile(t)
	client := oauth.NewClient(true)
	defer client.Close()
	if token, err := h.attempt(t, client, ""); err != nil || token.Access != "good" {
		t.Errorf("an honest one: %+v, %v", token, err)
	}
}

// TestBrokenMetadataLeaveNothingBehind: what a resource says of another one does not count although its metadata cannot
// be read to their end.
func TestBrokenMetadataLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.says["/meta"] = `{"resource":"https://bank.example/mcp","authorization_servers":["` + h.url +
		`"],"scopes_supported":7}`
	client := oauth.NewClient(true)
	defer client.Close()
	token, err := h.attempt(t, client, "")
	if err != nil || token.For("https://bank.example/mcp") || !token.For(h.url+"/mcp") {
		t.Errorf("a token for %s, %v", token.Resource, err)
	}
}

// TestPrivateAuthorizationServersNeedLeave: without it nothing on this machine is asked, and nothing without TLS.
func TestPrivateAuthorizationServersNeedLeave(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	client := oauth.NewClient(false)
	defer client.Close()
	if _, err := h.attempt(t, client, ""); err == nil || len(h.asked) > 0 {
		t.Errorf("%v after requests to %v", err, h.asked)
	}
}

// TestSealed: what is sealed opens only with its key and at its place.
func TestSealed(t *testing.T) {
	t.Parallel()
	sealer := func(first byte) oauth.Sealer {
		key := make([]byte, oauth.KeyBytes)
		key[0] = first
		made, err := oauth.NewSealer(key)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	sealed, err := sealer(1).Seal("secret", "here")
	if err != nil || strings.Contains(string(sealed), "secret") {
		t.Fatal(err, sealed)
	}
	var got string
	if err := sealer(1).Open(sealed, "here", &got); err != nil || got != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	broken := append([]byte{}, sealed...)
	broken[len(broken)-1] ^= 1
	for name, err := range map[string]error{
		"another key":   sealer(2).Open(sealed, "here", &got),
		"another place": sealer(1).Open(sealed, "there", &got),
		"changed":       sealer(1).Open(broken, "here", &got),
		"short":         sealer(1).Open(sealed[:4], "here", &got),
	} {
		if !errors.Is(err, oauth.ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{
		`Bearer resource_metadata="https://a/b", scope="x y"`,
		`Basic realm="a", Bearer error=invalid_token`, `Bearer "=`,
		`a="\`, `=,=`, `Bearer a=b,c="d\"e"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		for name, value := range oauth.Challenge(header) {
			if name == "" || len(name)+len(value) > len(header) && len(header) > 0 && len(value) > len(header) {
				t.Errorf("%q says %q=%q", header, name, value)
			}
		}
	})
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	got := oauth.Challenge(
		`Basic realm="r, \"s\"", Bearer error=invalid_token, Resource_Metadata="https://a/b", error=x`,
	)
	if got["realm"] != `r, "s"` || got["error"] != "invalid_token" || got["resource_metadata"] != "https://a/b" {
		t.Errorf("%q", got)
	}
}
