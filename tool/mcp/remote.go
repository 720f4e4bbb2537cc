package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley/internal/netguard"
)

// maxStreamRetries bounds how often a broken event stream is requested again.
const maxStreamRetries = 3

// remote is the transport of a streamable HTTP server. It serves one connection.
type remote struct {
	client *http.Client
	url    string
	alive  context.Context //nolint:containedctx // its end ends every request of the connection
	end    context.CancelCauseFunc
	bound  *bounded
}

func newRemote(server Server, bearer *bearer) (*remote, error) {
	origin, err := url.Parse(server.URL)
	if err != nil {
		return nil, err
	}
	client := netguard.NewClient(
		netguard.Options{Origin: origin, Header: server.Headers, AllowPrivate: server.AllowPrivate},
	)
	checkRedirect := client.CheckRedirect
	client.CheckRedirect = func(request *http.Request, via []*http.Request) error {
		// The SDK's session id is as good as a credential, and arguments belong to the agent: neither goes to another
		// host.
		if request.URL.Scheme != origin.Scheme || request.URL.Host != origin.Host {
			return fmt.Errorf(
				"the server redirects to another host, %s; configure that address if it is the right one",
				request.URL.Host,
			)
		}
		return checkRedirect(request, via)
	}
	alive, end := context.WithCancelCause(context.Background())
	bound := &bounded{next: client.Transport, alive: alive, end: end, flood: newFlood(), bearer: bearer}
	client.Transport = bound
	return &remote{client: client, url: server.URL, alive: alive, end: end, bound: bound}, nil
}

// Connect implements the SDK's Transport.
func (r *remote) Connect(ctx context.Context) (sdk.Connection, error) {
	transport := &sdk.StreamableClientTransport{
		Endpoint: r.url, HTTPClient: r.client, MaxRetries: maxStreamRetries, MaxEventSize: MaxMessageBytes,
	}
	return transport.Connect(ctx)
}

// close ends all requests of the connection. It may be called more than once.
func (r *remote) close() {
	r.end(nil)
	r.client.CloseIdleConnections()
}

// ended implements transport: a flood ends all requests.
func (r *remote) ended() <-chan struct{} { return r.alive.Done() }

// why adds the status with which the server answered last, if that was an error.
func (r *remote) why(err error) error {
	if cause := context.Cause(r.alive); err != nil && errors.Is(cause, errFlood) {
		return cause
	}
	if refused := r.bound.refused.Load(); err != nil && refused != nil {
		return refused
	}
	if status := r.bound.status.Load(); status != 0 && err != nil {
		return fmt.Errorf("%w; it answered %w", err, errStatus(status))
	}
	return err
}

// bounded ends requests with their connection, and bounds and counts what answers them.
type bounded struct {
	next  http.RoundTripper
	alive context.Context //nolint:containedctx // as in remote
	end   context.CancelCauseFunc
	flood *flood
	// bearer gives the tokens; nil: no request has one. refused is why it last gave none.
	bearer  *bearer
	refused atomic.Pointer[unauthorized]

	status atomic.Int32 // of the last answer that was an error; 0: none
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	unhook := context.AfterFunc(b.alive, cancel)
	h := holdOf(r.Context())
	release := sync.OnceFunc(func() {
		unhook()
		cancel()
		if h == nil {
			b.flood.done()
		}
	})
	if h == nil { // for most of them an answer to a request of the server
		if err := b.flood.open(); err != nil {
			b.end(err)
		}
	}
	markSent(ctx, true)
	response, err := b.send(r.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	if r.Method == http.MethodPost && response.StatusCode == http.StatusNotFound {
		markSent(ctx, false) // the server does not know the session
	}
	b.status.Store(0)
	if response.StatusCode >= http.StatusBadRequest {
		b.status.Store(int32(response.StatusCode)) //nolint:gosec // three digits
	}
	if kind, _, err := mime.ParseMediaType(
		response.Header.Get("Content-Type"),
	); err == nil &&
		kind == "text/event-stream" && response.StatusCode/100 == 2 {
		// Each event has its own bound. An error is read whole, whatever it says it is.
		response.Body = &eventsBody{
			ReadCloser: &body{ReadCloser: response.Body, room: -1, release: release}, hold: h,
			flood: b.flood, end: b.end,
		}
		if tell := mendingOf(r.Context()); tell != nil {
			response.Body = &mendedEvents{ReadCloser: response.Body, tell: tell}
		}
		return response, nil
	}
	response.Body = &wholeBody{
		ReadCloser: &body{ReadCloser: response.Body, room: MaxMessageBytes, release: release}, hold: h,
		tell: mendingOf(r.Context()),
	}
	return response, nil
}

// send sends a request with a token. If the server refuses the token, it is renewed, and the request sent once more:
// what a server lets nobody do has not happened.
func (b *bounded) send(r *http.Request) (*http.Response, error) {
	if b.bearer == nil {
		return b.next.RoundTrip(r)
	}
	stale := ""
	for {
		token, err := b.bearer.get(r.Context(), stale)
		if err != nil {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, b.refuse(err)
		}
		attempt := r.Clone(r.Context())
		attempt.Header.Set("Authorization", "Bearer "+token)
		response, err := b.next.RoundTrip(attempt)
		if err != nil || response.StatusCode != http.StatusUnauthorized {
			return response, err
		}
		if stale != "" {
			b.refused.Store(errNotTaken)
			return response, nil
		}
		stale = token
		if r.Body != nil {
			if r.GetBody == nil {
				return response, nil
			}
			if r.Body, err = r.GetBody(); err != nil {
				return response, nil //nolint:nilerr // the answer says enough
			}
		}
		_ = response.Body.Close()
	}
}

// refuse notes that a person must act.
func (b *bounded) refuse(err error) error {
	var person *unauthorized
	if errors.As(err, &person) {
		b.refused.Store(person)
	}
	return err
}

// errTooLong ends an answer beyond its bound.
var errTooLong = errors.New("the server's answer is longer than this client accepts")

// body is an answer with a bound.
type body struct {
	io.ReadCloser
	room    int64 // bytes still allowed; -1: no bound
	release func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.room == 0 {
		return 0, errTooLong
	}
	if b.room > 0 && int64(len(p)) > b.room {
		p = p[:b.room]
	}
	n, err := b.ReadCloser.Read(p)
	if b.room > 0 {
		b.room -= int64(n)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
