package netguard_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.org/parley/internal/netguard"
)

// redirects stands for a public server that redirects to the address in the query.
type redirects struct{}

func (redirects) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusTemporaryRedirect,
		Header:     http.Header{"Location": {r.URL.Query().Get("to")}},
		Body:       http.NoBody,
		Request:    r,
	}, nil
}

// A public server's redirect to a private address is refused, however the address is written: no connection is made.
func TestRedirectsLeadNowherePrivate(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "localhost", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[::127.0.0.1]",
		"[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fe80::5efe:7f00:1]",
		"[2a00:1450::5efe:7f00:1]",
		"10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "198.18.0.1", "[fe80::1]",
		"[fc00::1]", "[fd00:ec2::254]", "[::ffff:a9fe:a9fe]",
	} {
		client := netguard.NewClient(netguard.Options{})
		netguard.Serve(client, "public", redirects{})
		_, err := get(t, client, "public://example.com/?to="+url.QueryEscape("http://"+host+":"+port+"/x"))
		if !errors.Is(err, netguard.ErrPrivate) || strings.Contains(err.Error(), "redirects") {
			t.Errorf("%s: %v", host, err)
		}
	}
}
