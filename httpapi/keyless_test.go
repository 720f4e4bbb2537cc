package httpapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"example.org/parley"
	"example.org/parley/engine"
)

// stranger is a user of the machine who is neither the server's nor root.
const stranger = 12345

// asUser has the server's client dial as another user of the machine, a connection
// for each request.
func (s *testServer) asUser(uid int) *testServer {
	s.Helper()
	if os.Geteuid() != 0 {
		s.Skip("only root may act as another user; CI runs this")
	}
	other := *s
	other.client = &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				type dialled struct {
					conn net.Conn
					err  error
				}
				made := make(chan dialled, 1)
				go func() { // ends with its thread, which stays the other user's
					runtime.LockOSThread()
					_ = unix.Setfsuid(uid)
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					made <- dialled{conn, err}
				}()
				d := <-made
				return d.conn, d.err
			},
		},
	}
	return &other
}

// Another user of the machine is let in nowhere but at what is open to everybody.
func TestAnotherUserOfTheMachineNeedsAKey(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	agent := want[parley.Agent](s, http.StatusCreated, "POST", "/v1/agents", `{"name":"one"}`).ID.String()
	nobody := s.asUser(stranger)
	fill := strings.NewReplacer(
		"{agent}",
		agent,
		"{session}",
		session,
		"{reader}",
		session,
		"{client}",
		"tab",
		"{version}",
		"1",
	)
	list := routes()
	for i := range list {
		r := &list[i]
		for _, path := range r.paths {
			target := fill.Replace(path)
			for _, name := range []string{"message", "turn", "call", "loop", "approval", "project", "file", "key",
				"grant", "sign_in"} {
				target = strings.ReplaceAll(target, "{"+name+"}", parley.NewID().String())
			}
			got := nobody.do(r.method, target, r.validBody())
			switch {
			case r.open && got.status == http.StatusUnauthorized && !strings.HasPrefix(r.name, "signIn"):
				t.Errorf("%s %s is open, and answers %d", r.method, target, got.status)
			case !r.open && got.status != http.StatusUnauthorized:
				t.Errorf("%s %s: status %d for another user: %s", r.method, target, got.status, got.body)
			}
		}
	}
	refused := nobody.do("GET", "/v1/sessions", "")
	if detail := refused.problem(
		t,
	).Detail; !strings.Contains(detail, "parley keys create") ||
		!strings.Contains(detail, "token") {
		t.Errorf("the refusal does not say what to do: %s", detail)
	}
	for _, uid := range []int{65534, 1, 0} {
		status := http.StatusUnauthorized
		if uid == 0 {
			status = http.StatusOK
		}
		if got := s.asUser(uid).do("GET", "/v1/sessions", ""); got.status != status {
			t.Errorf("user %d: status %d, want %d", uid, got.status, status)
		}
	}
	if got := nobody.do("GET", "/v1/sessions", "", "Authorization", "Bearer "+testToken); got.status != http.StatusOK {
		t.Errorf("with the token: status %d", got.status)
	}
	key := s.key("default", "theirs", parley.RoleMember)
	if got := nobody.do("GET", "/v1/sessions", "", "Authorization", key); got.status != http.StatusOK {
		t.Errorf("with a key: status %d", got.status)
	}
}

// TestPassedOnRequestsNeedAKey: the connection is the proxy's, whoever sends.
func TestPassedOnRequestsNeedAKey(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){"as ever": func(*Options) {}, "insecure": func(o *Options) {
		o.InsecureLocal = true
	}} {
		s := startServer(t, change)
		for _, header := range []string{"Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Proto",
			"x-forwarded-anything", "X-Forwarded-"} {
			got := s.do("GET", "/v1/sessions", "", header, "x")
			if got.status != http.StatusUnauthorized || !strings.Contains(got.problem(t).Detail, "parley keys create") {
				t.Errorf("%s, with %s: status %d %s", name, header, got.status, got.body)
			}
			if got := s.do(
				"GET",
				"/v1/sessions",
				"",
				header,
				"x",
				"Authorization",
				"Bearer "+testToken,
			); got.status != http.StatusOK {
				t.Errorf("%s, with %s and the token: status %d", name, header, got.status)
			}
		}
	}
}

// TestASenderWhoIsGoneIsNobody: a request that was sent and closed, or half closed,
// before anybody looked does nothing.
func TestASenderWhoIsGoneIsNobody(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	s := startServer(t, func(o *Options) {
		own := o.OwnUser
		o.OwnUser = func(ctx context.Context) error { // the look-up waits until the sender is gone
			<-gone
			return own(ctx)
		}
	})
	const body = `{"name":"made by nobody"}`
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(
		conn,
		"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(body),
		body,
	); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	close(gone)
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401 ") {
		t.Errorf("%v: %s", err, answer)
	}
	agents := want[page[parley.Agent]](s, http.StatusOK, "GET", "/v1/agents", "")
	for _, agent := range agents.Data {
		if agent.Name == "made by nobody" {
			t.Error("the request did something")
		}
	}
}

func TestWhereTheSystemDoesNotTellEverybodyNeedsAKey(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"nobody is asked":  func(o *Options) { o.OwnUser = nil },
		"it is not known":  func(o *Options) { o.OwnUser = func(context.Context) error { return ErrCannotTell } },
		"an unknown error": func(o *Options) { o.OwnUser = func(context.Context) error { return io.ErrUnexpectedEOF } },
	} {
		s := startServer(t, change)
		if got := s.do(
			"GET",
			"/v1/sessions",
			"",
		); got.status != http.StatusUnauthorized ||
			!strings.Contains(got.problem(t).Detail, "token") {
			t.Errorf("%s: status %d %s", name, got.status, got.body)
		}
		if got := s.do("GET", "/v1/sessions", "", "Authorization", "Bearer "+testToken); got.status != http.StatusOK {
			t.Errorf("%s: with the token: status %d", name, got.status)
		}
	}
}

func TestInsecureLocalLetsEveryUserInUntilThereIsAKey(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *Options) { o.InsecureLocal, o.OwnUser = true, nil })
	if got := s.do("GET", "/v1/sessions", ""); got.status != http.StatusOK {
		t.Errorf("status %d", got.status)
	}
	want[engine.NewKey](s, http.StatusCreated, "POST", "/v1/keys", `{"name":"first"}`)
	if got := s.do("GET", "/v1/sessions", ""); got.status != http.StatusUnauthorized {
		t.Errorf("with a key made: status %d", got.status)
	}
}
