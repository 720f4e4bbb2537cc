package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

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

// A name whose server answers with another address each time, a public one first, leads nowhere private: what counts is
// the address of the connection, not of an earlier look-up.
func TestReboundNamesLeadNowherePrivate(t *testing.T) {
	inside := httptest.NewServer(http.NotFoundHandler())
	defer inside.Close()
	names := rebinding(t)
	resolver := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = resolver })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", names.LocalAddr().String())
	}}
	if found, err := net.DefaultResolver.LookupHost(
		t.Context(),
		"rebound.example",
	); err != nil ||
		found[0] != "8.8.8.8" {
		t.Fatalf("at first the name is %q, %v", found, err)
	}
	port := inside.URL[strings.LastIndex(inside.URL, ":"):]
	client := netguard.NewClient(netguard.Options{})
	if _, err := get(t, client, "http://rebound.example"+port+"/"); !errors.Is(err, netguard.ErrPrivate) {
		t.Errorf("the name's second address: %v", err)
	}
	netguard.Serve(client, "public", redirects{})
	to := "public://example.com/?to=" + url.QueryEscape("http://rebound.example"+port+"/")
	if _, err := get(t, client, to); !errors.Is(err, netguard.ErrPrivate) {
		t.Errorf("a redirect to the name: %v", err)
	}
}

// rebinding is a server of names, until the end of the test. The first question for an address is answered with a
// public one, all later ones with this machine's.
func rebinding(t *testing.T) net.PacketConn {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	var asked atomic.Int32
	go func() { // ends with the connection
		defer close(done)
		question := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(question)
			if err != nil {
				return
			}
			var message dnsmessage.Message
			if message.Unpack(question[:n]) != nil || len(message.Questions) != 1 {
				continue
			}
			of := message.Questions[0]
			answer := dnsmessage.Message{
				Header:    dnsmessage.Header{ID: message.ID, Response: true, RecursionAvailable: true},
				Questions: message.Questions,
			}
			if of.Type == dnsmessage.TypeA {
				address := [4]byte{127, 0, 0, 1}
				if asked.Add(1) == 1 {
					address = [4]byte{8, 8, 8, 8}
				}
				answer.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: of.Name, Type: of.Type, Class: of.Class},
					Body:   &dnsmessage.AResource{A: address},
				}}
			}
			packed, err := answer.Pack()
			if err != nil {
				continue
			}
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = conn.WriteTo(packed, from) // who asked may be gone
		}
	}()
	return conn
}
