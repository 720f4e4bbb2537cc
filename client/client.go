// Package client talks to a Parley server over its HTTP API. The command line uses it, and any Go program may. It keeps
// no state except a connection pool: the server's record is authoritative, and every stream can be resumed from it.
//
// The files that end in _gen.go are generated from the API's description (ADR 0057): a method for each operation, a
// struct for each body and each set of query parameters, an iterator for each list and each stream. The rest is written
// by hand: how requests are sent and repeated, how problems become errors, and how streams are read and resumed.
//
// Failures are *parley.Error: parley.ErrorCode returns the code, and Field, State and End say more if the server does.
package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.org/parley"
)

// DefaultURL is where a server listens when nobody says otherwise.
const DefaultURL = "http://127.0.0.1:7878"

const (
	maxErrorBytes  = 64 << 10
	maxAnswerBytes = 64 << 20
	answerDeadline = 60 * time.Second // for answers that neither are streams nor wait for a model
)

// Options say where the server is and who asks.
type Options struct {
	URL        string       // "" means DefaultURL
	Key        string       // an API key, or the content of the server's token file
	Workspace  string       // which workspace the machine's own user means; keys have theirs
	HTTPClient *http.Client // nil means one of its own
	// Retries is how often a request is sent again, and a broken stream taken up again, before the error is returned: 0
	// means DefaultRetries, a negative number never.
	Retries int
}

// Client is safe for concurrent use.
type Client struct {
	base      string
	key       string
	workspace string
	retries   int
	http      *http.Client
}

// New makes a client. CodeInvalid for an unreadable URL.
func New(options Options) (*Client, error) {
	base := strings.TrimRight(options.URL, "/")
	if base == "" {
		base = DefaultURL
	}
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return nil, parley.InvalidField(
			"url",
			"%q is not the address of a server: write http://host:port",
			parley.Clip(base, 128),
		)
	}
	httpClient := options.HTTPClient
	if httpClient == nil {
		httpClient = &http.Client{
			Transport: &http.Transport{
				Proxy:               http.ProxyFromEnvironment,
				MaxIdleConnsPerHost: 64,
				IdleConnTimeout:     time.Minute,
			},
		}
	}
	retries := options.Retries
	if retries == 0 {
		retries = DefaultRetries
	}
	return &Client{
		base: base, key: options.Key, workspace: options.Workspace, retries: max(retries, 0), http: httpClient,
	}, nil
}

// URL is the server's address.
func (c *Client) URL() string { return c.base }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Option changes how one request is sent, or what is read of its answer.
type Option func(*request)

// IdempotencyKey makes an operation that creates something safe to repeat: the same key and input give the first answer
// again. Without it such operations get a key of their own for each call, which makes the client's retries safe. Other
// operations leave it out.
func IdempotencyKey(key string) Option { return func(r *request) { r.key = key } }

// Once sends a request a single time, whatever Options.Retries says.
func Once() Option { return func(r *request) { r.once = true } }

// EventSequence stores the session's last event before what the request did: watch after it to miss nothing. It stays
// as it is where the answer does not tell.
func EventSequence(into *int64) Option { return func(r *request) { r.sequence = into } }

// Flush is how long a stream merges deltas before it sends them; 0 sends each. Without it the server's pace is kept.
// Operations that do not stream leave it out.
func Flush(pace time.Duration) Option { return func(r *request) { r.flush = &pace } }

// Forward posts a message of another protocol as it is, once, and returns the answer, whatever its status. The caller
// closes its body.
func (c *Client) Forward(ctx context.Context, path string, header http.Header, body []byte) (*http.Response, error) {
	r := &request{method: http.MethodPost, path: path, header: header, body: body, once: true, anyStatus: true}
	response, err := c.exchange(ctx, r)
	return response, bare(err)
}

// Ready reports whether the server answers and is ready for requests, without asking twice.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.Readiness(ctx, Once())
	return err
}
