package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/stream"
)

// cookieOf is the cookie of a sign-in with a key.
func (s *testServer) cookieOf(secret string) string {
	s.Helper()
	in := s.do("POST", "/v1/sign-in", `{"key":"`+secret+`"}`)
	if in.status != http.StatusOK {
		s.Fatalf("sign in: status %d %s", in.status, in.body)
	}
	cookie, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
	return cookie
}

func TestABrowserSignsInAndOut(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := want[engine.NewKey](s, http.StatusCreated, "POST", "/v1/keys", `{"name":"page","role":"member"}`)
	if got := s.do(
		"POST",
		"/v1/sign-in",
		`{"key":"pk_unknown"}`,
	); got.status != http.StatusUnauthorized ||
		got.header.Get("Set-Cookie") != "" {
		t.Errorf("an unknown key: status %d, cookie %q", got.status, got.header.Get("Set-Cookie"))
	}
	if got := s.do(
		"POST",
		"/v1/sign-in",
		`{"key":"a;b"}`,
	); got.status != http.StatusUnauthorized ||
		strings.Contains(string(got.body), "a;b") {
		t.Errorf("what is not a key: status %d %s", got.status, got.body)
	}
	in := s.do("POST", "/v1/sign-in", `{"key":" `+key.Secret+` "}`)
	set := in.header.Get("Set-Cookie")
	if in.status != http.StatusOK || strings.Contains(string(in.body)+set, key.Secret) || strings.Contains(set, "pk_") {
		t.Fatalf("sign in: status %d %s, cookie %q", in.status, in.body, set)
	}
	for _, attribute := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"} {
		if !strings.Contains(set, attribute) {
			t.Errorf("the cookie %q is not %s", set, attribute)
		}
	}
	if strings.Contains(set, "Secure") {
		t.Error("over plain HTTP a Secure cookie would be dropped")
	}
	if got := s.do(
		"POST",
		"/v1/sign-in",
		`{"key":"`+key.Secret+`"}`,
		"X-Forwarded-Proto",
		"https",
	); !strings.Contains(
		got.header.Get("Set-Cookie"),
		"Secure",
	) {
		t.Error("behind TLS the cookie is not Secure")
	}
	cookie, _, _ := strings.Cut(set, ";")
	who := want[whoAmI](s, http.StatusOK, "GET", "/v1/principal", "", "Cookie", cookie)
	if who.ID != key.PrincipalID {
		t.Errorf("the cookie is of %+v, want the key's principal", who)
	}
	if own := want[page[parley.SignIn]](
		s,
		http.StatusOK,
		"GET",
		"/v1/sign-ins",
		"",
		"Cookie",
		cookie,
	).Data; !slices.ContainsFunc(
		own,
		func(one parley.SignIn) bool { return one.ID == who.SignInID },
	) {
		t.Errorf("the browser's sign-in is %s, listed is %+v", who.SignInID, own)
	}
	if by := want[whoAmI](
		s,
		http.StatusOK,
		"GET",
		"/v1/principal",
		"",
		"Authorization",
		"Bearer "+key.Secret,
	); !by.SignInID.IsZero() {
		t.Errorf("a program with a key has the sign-in %s", by.SignInID)
	}
	_, secret, _ := strings.Cut(cookie, "=")
	if got := s.do(
		"GET",
		"/v1/principal",
		"",
		"Authorization",
		"Bearer "+secret,
	); got.status != http.StatusUnauthorized {
		t.Errorf("the cookie's secret is a key: status %d", got.status)
	}
	if got := s.do(
		"POST",
		"/v1/agents",
		`{"name":"Theirs"}`,
		"Cookie",
		cookie,
		"Origin",
		"https://elsewhere.example",
	); got.status != http.StatusForbidden {
		t.Errorf("a page of another site wrote with the cookie: status %d", got.status)
	}
	out := s.do("DELETE", "/v1/sign-in", "", "Cookie", cookie)
	if out.status != http.StatusNoContent || !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("sign out: status %d, cookie %q", out.status, out.header.Get("Set-Cookie"))
	}
	if got := s.do("GET", "/v1/principal", "", "Cookie", cookie); got.status != http.StatusUnauthorized {
		t.Errorf("a cookie that was kept after signing out: status %d", got.status)
	}
	if got := s.do("DELETE", "/v1/sign-in", "", "Cookie", cookie); got.status != http.StatusNoContent {
		t.Errorf("signing out again: status %d", got.status)
	}
	for _, text := range []string{key.Secret, secret} {
		if strings.Contains(s.log.String(), text) {
			t.Error("the log holds a secret")
		}
	}
}

// TestSignInsEndWithTheirKey: with their streams, like the key's own.
func TestSignInsEndWithTheirKey(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin := s.key("default", "admin", parley.RoleAdmin)
	key := want[engine.NewKey](
		s,
		http.StatusCreated,
		"POST",
		"/v1/keys",
		`{"name":"page","role":"member"}`,
		"Authorization",
		admin,
	)
	for name, end := range map[string]func(cookie string){
		"signing out": func(cookie string) {
			want[struct{}](s, http.StatusNoContent, "DELETE", "/v1/sign-in", "", "Cookie", cookie)
		},
		"an admin's word": func(cookie string) {
			own := want[page[parley.SignIn]](s, http.StatusOK, "GET", "/v1/sign-ins", "", "Cookie", cookie)
			want[struct{}](s, http.StatusNoContent, "DELETE", "/v1/sign-ins/"+own.Data[0].ID.String(), "",
				"Authorization", admin)
		},
	} {
		cookie := s.cookieOf(key.Secret)
		feed := s.stream("GET", "/v1/events", "", "Cookie", cookie)
		feed.until("resync")
		end(cookie)
		feed.rest() // until the stream ends, within the test's patience
		if got := s.do("GET", "/v1/principal", "", "Cookie", cookie); got.status != http.StatusUnauthorized {
			t.Errorf("after %s: status %d", name, got.status)
		}
		if got := s.do("GET", "/v1/principal", "", "Authorization", "Bearer "+key.Secret); got.status != http.StatusOK {
			t.Errorf("after %s the key: status %d", name, got.status)
		}
	}
	cookie := s.cookieOf(key.Secret)
	feed := s.stream("GET", "/v1/events", "", "Cookie", cookie)
	feed.until("resync")
	want[struct{}](s, http.StatusNoContent, "DELETE", "/v1/keys/"+key.ID.String(), "", "Authorization", admin)
	feed.rest()
	if got := s.do("GET", "/v1/principal", "", "Cookie", cookie); got.status != http.StatusUnauthorized {
		t.Errorf("a cookie of a revoked key: status %d", got.status)
	}
}

// Whoever signed in with a token that was replaced is signed out; a key's sign-ins stay.
func TestSignInsEndWithTheLocalToken(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := want[engine.NewKey](s, http.StatusCreated, "POST", "/v1/keys", `{"name":"page","role":"member"}`)
	local, own := s.cookieOf(testToken), s.cookieOf(key.Secret)
	after := parley.Now() + 1
	for name, c := range map[string]struct {
		since  parley.Time
		cookie string
		status int
	}{
		"the same token":        {0, local, http.StatusOK},
		"another token":         {after, local, http.StatusUnauthorized},
		"a key, another token":  {after, own, http.StatusOK},
		"a token made long ago": {1, local, http.StatusOK},
	} {
		handler, err := New(Options{
			Engine: s.engine, Streams: stream.New(s.engine, s.hub), LocalToken: testToken, LocalSince: c.since,
		})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/principal", nil)
		request.Header.Set("Cookie", c.cookie)
		got := httptest.NewRecorder()
		handler.ServeHTTP(got, request)
		if got.Code != c.status {
			t.Errorf("%s: status %d %s", name, got.Code, got.Body)
		}
	}
}

func TestSignInsAreListedAndEndedByTheirOwn(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin, one, two := s.key(
		"team",
		"admin",
		parley.RoleAdmin,
	), s.key(
		"team",
		"one",
		parley.RoleMember,
	), s.key(
		"team",
		"two",
		parley.RoleReader,
	)
	foreign := s.key("other", "foreign", parley.RoleAdmin)
	first := s.cookieOf(strings.TrimPrefix(one, "Bearer "))
	s.cookieOf(strings.TrimPrefix(two, "Bearer "))
	list := func(wanted int, headers ...string) []parley.SignIn {
		t.Helper()
		got := want[page[parley.SignIn]](s, http.StatusOK, "GET", "/v1/sign-ins", "", headers...)
		if len(got.Data) != wanted {
			t.Errorf("%d sign-ins are listed, want %d", len(got.Data), wanted)
		}
		return got.Data
	}
	list(2, "Authorization", admin)
	list(0, "Authorization", foreign)
	own := list(1, "Cookie", first)
	if own[0].PrincipalName != "one" {
		t.Errorf("one's own is %+v", own[0])
	}
	for name, bearer := range map[string]string{"another member": two, "another workspace": foreign} {
		if got := s.do(
			"DELETE",
			"/v1/sign-ins/"+own[0].ID.String(),
			"",
			"Authorization",
			bearer,
		); got.status != http.StatusNotFound {
			t.Errorf("ended by %s: status %d", name, got.status)
		}
	}
	want[struct{}](s, http.StatusNoContent, "DELETE", "/v1/sign-ins/"+own[0].ID.String(), "", "Authorization", one)
	list(0, "Authorization", one)
}

// TestACookieThatHoldsAKeyIsTakenBack: earlier versions kept the key in it.
func TestACookieThatHoldsAKeyIsTakenBack(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := s.key("default", "page", parley.RoleAdmin)
	secret := strings.TrimPrefix(key, "Bearer ")
	got := s.do("GET", "/v1/principal", "", "Cookie", "parley_key="+secret)
	set := got.header.Get("Set-Cookie")
	if got.status != http.StatusUnauthorized || !strings.HasPrefix(set, "parley_key=;") ||
		!strings.Contains(set, "Max-Age=0") {
		t.Errorf("status %d, cookie %q", got.status, set)
	}
	if got := s.do(
		"GET",
		"/v1/principal",
		"",
		"Cookie",
		signInCookie+"="+secret,
	); got.status != http.StatusUnauthorized {
		t.Errorf("a key in the new cookie: status %d", got.status)
	}
}

func TestTheOneTimeCodeSignsInOnce(t *testing.T) {
	t.Parallel()
	const code = "a-code-of-this-test"
	nobody := func(o *Options) {
		o.SignInCode, o.OwnUser = code, func(context.Context) error { return ErrCannotTell }
	}
	s := startServer(t, nobody)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for name, ask := range map[string]func() reply{
		"a wrong code": func() reply { return s.do("GET", "/sign-in?code=guess", "") },
		"no code":      func() reply { return s.do("GET", "/sign-in", "") },
		"a look ahead": func() reply { return s.do("GET", "/sign-in?code="+code, "", "Sec-Purpose", "prefetch") },
		"only headers": func() reply { return s.do("HEAD", "/sign-in?code="+code, "") },
		"another name": func() reply { return s.do("GET", "/sign-in?code="+code, "", "Host", "rebound.example") },
	} {
		if got := ask(); got.header.Get("Set-Cookie") != "" || got.status == http.StatusSeeOther {
			t.Errorf("%s: status %d, cookie %q", name, got.status, got.header.Get("Set-Cookie"))
		}
	}
	in := s.do("GET", "/sign-in?code="+code, "")
	if in.status != http.StatusSeeOther || in.header.Get("Location") != "/" ||
		in.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("status %d, headers %v", in.status, in.header)
	}
	cookie, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
	if who := want[parley.Principal](
		s,
		http.StatusOK,
		"GET",
		"/v1/principal",
		"",
		"Cookie",
		cookie,
	); who.Role != parley.RoleAdmin ||
		who.Kind != parley.AuthorPerson {
		t.Errorf("signed in as %+v", who)
	}
	if got := s.do("GET", "/sign-in?code="+code, ""); got.status != http.StatusUnauthorized {
		t.Errorf("the code again: status %d", got.status)
	}
	for _, address := range []string{"/sign-in?code=" + code, "/sign-in?code=guess"} {
		shown := s.do("GET", address, "", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		if shown.status < 400 || !strings.HasPrefix(shown.header.Get("Content-Type"), "text/html") ||
			!strings.Contains(string(shown.body), "<h1>Not signed in</h1>") ||
			!strings.HasPrefix(shown.header.Get("Content-Security-Policy"), "default-src 'none'") ||
			shown.header.Get("Cache-Control") != "no-store" {
			t.Errorf(
				"%s, opened by a person: status %d, headers %v\n%s",
				address,
				shown.status,
				shown.header,
				shown.body,
			)
		}
	}
	if got := s.do(
		"GET",
		"/sign-in?code="+code,
		"",
		"Accept",
		"application/json",
	); got.header.Get(
		"Content-Type",
	) != "application/problem+json" {
		t.Errorf("a program gets %q", got.header.Get("Content-Type"))
	}
	if strings.Contains(s.log.String(), code) {
		t.Error("the log holds the code")
	}
	a := newGate(&Options{SignInCode: code})
	a.now = func() time.Time { return time.Now().Add(SignInCodeTime + time.Second) }
	if a.redeem(code) {
		t.Error("the code works when its time is over")
	}
}

// TestAnswersAreKeptByNobody: with a secret in them not at all, others not by what
// stands between.
func TestAnswersAreKeptByNobody(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := s.do("POST", "/v1/keys", `{"name":"page"}`)
	if got := made.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("a new key: %q", got)
	}
	key := s.key("default", "other", parley.RoleAdmin)
	in := s.do("POST", "/v1/sign-in", `{"key":"`+strings.TrimPrefix(key, "Bearer ")+`"}`)
	if got := in.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("a sign-in: %q", got)
	}
	for _, path := range []string{"/v1/principal", "/v1/sessions", "/v1/nothing",
		"/v1/sessions/" + parley.NewID().String()} {
		if got := s.do("GET", path, "", "Authorization", key).header.Get("Cache-Control"); got != "private, no-cache" {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := s.do("GET", "/v1/sessions", "").header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("a refusal: %q", got)
	}
}

// TestSignInsAreCalls: they count against the key's rate, and each leaves one entry,
// written with the change and without a secret.
func TestSignInsAreCalls(t *testing.T) {
	t.Parallel()
	const code = "another-code-of-this-test"
	s := startServer(t, func(o *Options) { o.SignInCode = code })
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	key := want[engine.NewKey](s, http.StatusCreated, "POST", "/v1/keys", `{"name":"page","role":"reader"}`)
	in := s.do("POST", "/v1/sign-in", `{"key":"`+key.Secret+`"}`)
	cookie, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
	out := s.do("DELETE", "/v1/sign-in", "", "Cookie", cookie)
	s.do("DELETE", "/v1/sign-in", "", "Cookie", cookie) // which ends nothing
	byCode := s.do("GET", "/sign-in?code="+code, "")
	limited := want[engine.NewKey](
		s,
		http.StatusCreated,
		"POST",
		"/v1/keys",
		`{"name":"limited","requests_per_minute":2}`,
		"Authorization",
		"Bearer "+testToken,
	)
	refused := 0
	for range 5 {
		if s.do("POST", "/v1/sign-in", `{"key":"`+limited.Secret+`"}`).status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 2 {
		t.Errorf("of 5 sign-ins with a key for 2 requests a minute %d were refused", refused)
	}
	for range 3 * parley.SignInsPerMinute { // more are allowed as time passes
		in = s.do("POST", "/v1/sign-in", `{"key":"`+key.Secret+`"}`)
		if in.status == http.StatusTooManyRequests {
			break
		}
	}
	if in.status != http.StatusTooManyRequests || in.header.Get("Retry-After") == "" {
		t.Errorf("a key without a limit signs in without bound: status %d", in.status)
	}
	counts := map[string]int{}
	for _, e := range s.auditOf("") {
		if e.PrincipalID == limited.PrincipalID || !strings.HasPrefix(e.Action, "sign") {
			continue
		}
		counts[e.Action]++
		if s.behind.ids[e.ID] || e.TargetID.IsZero() || e.PrincipalID.IsZero() {
			t.Errorf("an entry that was not written with its change, or says too little: %+v", e)
		}
		for _, secret := range []string{key.Secret, strings.TrimPrefix(cookie, signInCookie+"="), code} {
			if strings.Contains(e.PrincipalName+e.Action, secret) {
				t.Error("an entry holds a secret")
			}
		}
		if got := map[string]string{"signOut": out.header.Get(requestIDHeader),
			"signInByCode": byCode.header.Get(requestIDHeader)}[e.Action]; got != "" &&
			got != e.RequestID.String() {
			t.Errorf("%s: the entry is of another request", e.Action)
		}
	}
	if counts["signIn"] < 2 || counts["signOut"] != 1 || counts["signInByCode"] != 1 {
		t.Errorf("the audit holds %v", counts)
	}
}
