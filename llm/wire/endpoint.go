package wire

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/internal/inflight"
)

// The deadlines of an answer, unless the options say otherwise.
const (
	DefaultFirstToken = 120 * time.Second // from sending to the first content
	DefaultIdle       = 60 * time.Second  // between bytes, after the first content

	// lessPatience divides the deadline for the first token after a fruitless attempt: a turn finds out sooner that its
	// provider hangs.
	lessPatience = 2
)

// The bounds of an Endpoint's connections.
const (
	idleConnections = 4096 // more than the turns of a process
	idleFor         = 90 * time.Second
	dialWithin      = 10 * time.Second
	handshakeWithin = 10 * time.Second
	maxHeaderBytes  = 256 << 10 // of an answer
)

// EndpointOptions say where requests go and how long their answers may take.
type EndpointOptions struct {
	BaseURL    string      // without Path; a query is kept
	Path       string      // begins with a slash
	Header     http.Header // sent with each request, credentials included
	Secret     string      // the credential, to redact it
	HTTPClient *http.Client
	FirstToken time.Duration // 0: DefaultFirstToken
	Idle       time.Duration // 0: DefaultIdle
}

// Endpoint is one URL that answers requests with event streams. It is safe for concurrent use.
type Endpoint struct {
	client     *http.Client
	url        string
	header     http.Header
	secret     string
	firstToken time.Duration
	idle       time.Duration
	frames     frameRoom
}

// framesHold bounds what long pieces of an endpoint's answers hold while they arrive, in
// bytes, for each GiB of GOMEMLIMIT.
const framesHold = 64 << 20

// frameRoom is that room. No stream has an owner here: the memory is the process's.
type frameRoom struct{ *inflight.Bytes }

// Take implements sse.Room.
func (r frameRoom) Take(n int64) bool { return r.Bytes.Take(inflight.Owner{}, n) }

// Give implements sse.Room.
func (r frameRoom) Give(n int64) { r.Bytes.Give(inflight.Owner{}, n) }

// NewEndpoint makes an Endpoint; CodeInvalid if the base URL is invalid. It follows no redirect, whatever the given
// client does: a redirect would send the credential and the conversation to a host that nobody configured.
func NewEndpoint(o EndpointOptions) (*Endpoint, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, parley.InvalidField(
			"base_url",
			"%q is not a base URL: write one such as https://host/v1",
			parley.Clip(Redact(o.BaseURL, o.Secret), 128),
		)
	}
	base.Path = strings.TrimRight(base.Path, "/") + o.Path
	base.RawPath = ""
	client := &http.Client{Transport: newTransport()}
	if o.HTTPClient != nil {
		copied := *o.HTTPClient
		client = &copied
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	header := o.Header.Clone()
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	header.Set("User-Agent", "parley")
	e := &Endpoint{
		client:     client,
		url:        base.String(),
		header:     header,
		secret:     o.Secret,
		firstToken: o.FirstToken,
		idle:       o.Idle,
		frames:     frameRoom{inflight.NewBytes(2*framesHold*inflight.Scale(), 0)}, // one owner takes half
	}
	if e.firstToken <= 0 {
		e.firstToken = DefaultFirstToken
	}
	if e.idle <= 0 {
		e.idle = DefaultIdle
	}
	return e, nil
}

// newTransport keeps many connections to one host and never requests compression, which would delay deltas.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialWithin, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: handshakeWithin,
		MaxIdleConns:        idleConnections,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     idleFor,
		DisableCompression:  true,
		ForceAttemptHTTP2:   true,

		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// Close closes unused connections. The Endpoint stays usable.
func (e *Endpoint) Close() { e.client.CloseIdleConnections() }
