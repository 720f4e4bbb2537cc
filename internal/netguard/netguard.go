// Package netguard makes HTTP clients for addresses that come from configuration but that others
// (models, tool servers, pages) fill in or redirect. It refuses private networks at connect time,
// for every connection and therefore for each redirect, and sends credentials only to the origin
// that they were configured for.
package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	// MaxRedirects bounds the redirects followed by one request.
	MaxRedirects = 5

	dialWithin      = 10 * time.Second
	handshakeWithin = 10 * time.Second
	idleFor         = 90 * time.Second
	idleConnections = 16        // per host
	mostIdle        = 256       // over all hosts
	maxHeaderBytes  = 256 << 10 // of an answer
)

// ErrPrivate ends a connection to a private address.
var ErrPrivate = errors.New("this address lies in a private network, which is not allowed here")

// Options say which servers a client may contact.
type Options struct {
	// Origin is the scheme, host and port that Header is for.
	Origin *url.URL
	// Header is set only on requests to Origin; it may contain credentials.
	Header http.Header
	// AllowPrivate also permits loopback, private and link-local addresses.
	AllowPrivate bool
}

// NewClient makes a client. It uses no proxy, because the target of a proxy could not be checked here. The caller
// bounds each request by its context, and closes idle connections when it no longer needs the client.
func NewClient(options Options) *http.Client {
	dialer := &net.Dialer{Timeout: dialWithin, KeepAlive: 30 * time.Second}
	if !options.AllowPrivate {
		dialer.Control = refusePrivate
	}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: handshakeWithin, ForceAttemptHTTP2: true,
		MaxIdleConns: mostIdle, MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: idleFor,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return &http.Client{
		Transport: &authorised{next: transport, origin: options.Origin, header: options.Header.Clone()},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > MaxRedirects {
				return fmt.Errorf("more than %d redirects", MaxRedirects)
			}
			return nil
		},
	}
}

// refusePrivate is called with the address about to be connected to, after names were resolved: nothing can change in
// between.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrPrivate, address)
	}
	if !Public(to.Addr()) {
		return ErrPrivate
	}
	return nil
}

type headerKey struct{}

// WithHeader attaches headers of one request for a client of this package, which sends them to its Origin but not to
// another host that it redirects to.
func WithHeader(ctx context.Context, header map[string]string) context.Context {
	return context.WithValue(ctx, headerKey{}, header)
}

// authorised adds a header to requests for its origin.
type authorised struct {
	next   *http.Transport
	origin *url.URL
	header http.Header
}

// RoundTrip implements http.RoundTripper. Redirected requests pass through here too.
func (a *authorised) RoundTrip(r *http.Request) (*http.Response, error) {
	own, _ := r.Context().Value(headerKey{}).(map[string]string)
	r = r.Clone(r.Context())
	if a.origin != nil && r.URL.Scheme == a.origin.Scheme && r.URL.Host == a.origin.Host {
		for name, values := range a.header {
			r.Header[name] = values
		}
		for name, value := range own {
			r.Header.Set(name, value)
		}
	}
	sendOnce(r.Header)
	return a.next.RoundTrip(r)
}

// sendOnce spells names in small letters by which net/http would decide that a request may be sent again when its
// connection ends: the server may have acted already. Servers do not see a difference.
func sendOnce(header http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := header[name]; ok {
			delete(header, name)
			header[strings.ToLower(name)] = values
		}
	}
}

// CloseIdleConnections lets http.Client close them.
func (a *authorised) CloseIdleConnections() { a.next.CloseIdleConnections() }
