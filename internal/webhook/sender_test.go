package webhook_test

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/internal/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSign takes the example that the specification's libraries test with.
func TestSign(t *testing.T) {
	t.Parallel()
	const shown = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(shown, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	if got := webhook.Secret(secret); got != shown {
		t.Errorf("the secret is shown as %s", got)
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	got := webhook.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`),
		secret, secret)
	if got != want+" "+want {
		t.Errorf("the signatures are %s", got)
	}
}

// TestPrivateAddressesNeedLeave: without it nothing is sent to this machine.
func TestPrivateAddressesNeedLeave(t *testing.T) {
	t.Parallel()
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	sender := webhook.NewSender(false, nil)
	defer sender.Close()
	outcome := sender.Send(t.Context(), &parley.Webhook{URL: server.URL}, "msg_1", []byte("{}"))
	if outcome.OK() || asked || !strings.Contains(outcome.Error, "allow_private") {
		t.Errorf("asked %t: %+v", asked, outcome)
	}
}

// TestRedirectsAreNotFollowed, and an answer of any length is cut.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := false
	mux := http.NewServeMux()
	mux.Handle("/", http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { elsewhere = true })
	const most = 64 << 20 // beyond what the connection holds: its handler ends when the sender hangs up
	written := make(chan int64, 1)
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		n, _ := io.Copy(w, io.LimitReader(zeros{}, most)) // the sender hangs up
		written <- n
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	sender := webhook.NewSender(true, nil)
	defer sender.Close()
	send := func(path string) webhook.Outcome {
		return sender.Send(t.Context(), &parley.Webhook{URL: server.URL + path}, "msg_1", []byte("{}"))
	}
	if outcome := send("/"); outcome.OK() || elsewhere || outcome.Status != http.StatusTemporaryRedirect {
		t.Errorf("followed %t: %+v", elsewhere, outcome)
	}
	if outcome := send("/endless"); !outcome.OK() {
		t.Errorf("an endless answer: %+v", outcome)
	}
	if n := <-written; n == most {
		t.Error("the whole answer was read")
	}
}

// TestWhatOthersSayStaysHere: a subscriber does not learn what a service that speaks no HTTP says.
func TestWhatOthersSayStaysHere(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	served := make(chan struct{})
	go func() { // ends with the first connection, or the listener
		defer close(served)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "SSH-2.0-secret_9.9\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the sender hangs up
		_ = conn.Close()
	}()
	sender := webhook.NewSender(true, nil)
	defer sender.Close()
	url := "http://" + listener.Addr().String()
	const want = "the endpoint's answer could not be read"
	if outcome := sender.Send(t.Context(), &parley.Webhook{URL: url}, "msg_1", []byte("{}")); outcome.Error != want {
		t.Errorf("the error is %q; want %q", outcome.Error, want)
	}
	<-served
}

// zeros is a reader without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
