package bench

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// ServeProxy is the reference: only the standard library's reverse proxy, with the connection pool that a fair one
// needs. It reads the request's body before it forwards the request: net/http closes the body when the head of the
// answer is sent, and breaks the connection if the transport is about to look for the body's end at that moment, which
// happens with a provider as fast as ours.
func ServeProxy(listener net.Listener, target *url.URL) error {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			whole, err := io.ReadAll(r.In.Body)
			if err == nil {
				r.Out.Body = io.NopCloser(bytes.NewReader(whole))
			}
		},
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true},
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}
