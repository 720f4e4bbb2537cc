package netguard_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.org/parley/internal/netguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true, "64:ff9b::808:808": true,
		"2a00:1450:4001::200e": true,
		"127.0.0.1":            false, "127.1.2.3": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false,
		"172.16.0.1":     false,
		"172.31.255.255": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"198.18.0.1": false,
		"224.0.0.1":  false, "255.255.255.255": false, "240.0.0.1": false, "192.0.0.170": false,
		"::1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false,
		"ff02::1":          false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "64:ff9b::7f00:1": false,
		"64:ff9b::a9fe:a9fe": false,
		"64:ff9b:1::1":       false, "2002:7f00:1::": false, "::7f00:1": false, "fec0::1": false, "100::1": false,
		"2001::1": false, "2001:0:808:808::f7f7:f7f7": false, "2001:0:7f00:1:0:0:80ff:fffe": false, // Teredo
		"2002:808:808::1": false, "2002:a00:1::": false, // 6to4
		"::808:808": false, "64:ff9b::a00:1": false, "64:ff9b:1:808:8:800::": false,
		"2a00:1450::5efe:a00:1": false, "2a00:1450::200:5efe:808:808": false,
		"2a00:1450::5eff:a00:1": true, // ISATAP, and not
		"2001:db8::1":           false, "2001:2::1": false, "2001:20::1": false, "3fff::1": false, "5f00::1": false,
		"4000::1": false, "fdff::1": false, "febf::1": false,
		"192.0.2.1": false, "198.51.100.1": false, "203.0.113.1": false, "192.88.99.1": false,
	} {
		if got := netguard.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public %v", address, got)
		}
	}
}

// get sends a request and closes the answer.
func get(t *testing.T, client *http.Client, target string) (status int, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	client.CloseIdleConnections()
	return response.StatusCode, response.Body.Close()
}

func TestPrivateAddressesAreRefusedAtConnectTime(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, target := range []string{server.URL, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port} {
		if _, err := get(t, netguard.NewClient(netguard.Options{}), target); !errors.Is(err, netguard.ErrPrivate) {
			t.Errorf("%s: %v", target, err)
		}
	}
	if asked {
		t.Error("the server was contacted")
	}
	if status, err := get(
		t,
		netguard.NewClient(netguard.Options{AllowPrivate: true}),
		server.URL,
	); err != nil || status != http.StatusOK ||
		!asked {
		t.Errorf("allowed: %d, %v", status, err)
	}
}

// A connection is judged by its actual address, in every family.
func TestPrivateIPv6AddressesAreRefusedAtConnectTime(t *testing.T) {
	for _, address := range []string{
		"[fc00::1]:443", "[fd12:3456:789a::1]:80", "[fe80::1]:80", "[fe80::1%eth0]:80", "[febf::1%1]:443",
		"[::1]:80", "[::]:80",
		"[::ffff:10.0.0.1]:80", "[2002:a00:1::]:80", "[2001:0:7f00:1::]:80", "[64:ff9b::7f00:1]:80", "10.0.0.1:80",
		"no address",
	} {
		if err := netguard.RefusePrivate(address); !errors.Is(err, netguard.ErrPrivate) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"[2606:4700::1111]:443", "8.8.8.8:53"} {
		if err := netguard.RefusePrivate(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestCredentialsStayWithTheirOrigin: a redirect to another port does not get them.
func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	seen := map[string]string{}
	note := func(name string) http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) { seen[name] = r.Header.Get("X-Api-Key") }
	}
	other := httptest.NewServer(note("other"))
	defer other.Close()
	mux := http.NewServeMux()
	mux.Handle("/away", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	mux.Handle("/within", http.RedirectHandler("/end", http.StatusFound))
	mux.Handle("/end", note("own"))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	own := httptest.NewServer(mux)
	defer own.Close()
	origin, err := url.Parse(own.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := netguard.NewClient(
		netguard.Options{Origin: origin, Header: http.Header{"X-Api-Key": {"s3cret"}}, AllowPrivate: true},
	)
	for _, path := range []string{"/away", "/within"} {
		if _, err := get(t, client, own.URL+path); err != nil {
			t.Fatal(err)
		}
	}
	if seen["other"] != "" || seen["own"] != "s3cret" {
		t.Errorf("credentials seen: %v", seen)
	}
	if _, err := get(t, client, own.URL+"/round"); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("endless redirects: %v", err)
	}
}

// TestRequestsAreSentOnce: a key by which a server can tell a repetition does not have the client repeat a request
// whose connection ends: the server may have acted, and only the caller knows whether it may act twice.
func TestRequestsAreSentOnce(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		for _, body := range []string{"", "{}"} {
			var keys []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // so that the connection is used again
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				if len(keys) < 2 {
					return
				}
				connection, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_ = connection.Close()
			}))
			origin, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			client := netguard.NewClient(netguard.Options{Origin: origin, AllowPrivate: true})
			ctx := netguard.WithHeader(t.Context(), map[string]string{"Idempotency-Key": "one"})
			var last error
			for range 2 {
				request, err := http.NewRequestWithContext(ctx, method, server.URL, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				var response *http.Response
				if response, last = client.Do(request); last == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			}
			client.CloseIdleConnections()
			server.Close()
			if last == nil || !slices.Equal(keys, []string{"one", "one"}) {
				t.Errorf("%s with %q: the server saw %q, and the end was %v", method, body, keys, last)
			}
		}
	}
}
