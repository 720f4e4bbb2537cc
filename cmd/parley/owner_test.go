package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"example.org/parley/internal/peer"
)

// served is a server on a directory of its own with another kernel, closed with the
// test, and what it greets with.
func served(t *testing.T, log io.Writer, told kernel, change func(*settings)) (srv *server, greeting string) {
	t.Helper()
	set, err := loadSettings(&flags{data: t.TempDir()}, environment(nil))
	if err != nil {
		t.Fatal(err)
	}
	set.Addr = "127.0.0.1:0"
	change(&set)
	srv = &server{settings: set, env: environment(nil), log: slog.New(slog.NewTextHandler(log, nil)), kernel: told}
	if err := srv.open(t.Context()); err != nil {
		t.Fatal(errors.Join(err, srv.close()))
	}
	t.Cleanup(func() {
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	})
	var out bytes.Buffer
	srv.greet(terminal{out: &out})
	return srv, out.String()
}

// fetched is a request of a client that follows nothing.
func fetched(t *testing.T, url string, header ...string) (status int, body string, headers http.Header) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), turnTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	request.Close = true
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read), response.Header
}

// TestWhereTheKernelDoesNotTellAnAddressIsPrinted: it signs in once; the command line
// is let in by the token all the same.
func TestWhereTheKernelDoesNotTellAnAddressIsPrinted(t *testing.T) { //nolint:paralleltest // goleak counts
	silent := func(context.Context) error { return peer.ErrUnsupported }
	log := &lockedLog{}
	srv, greeting := served(t, log, kernel{check: silent, own: silent}, func(*settings) {})
	address := regexp.MustCompile(`http://\S+/sign-in\?code=\w{32}`).FindString(greeting)
	if address == "" {
		t.Fatalf("no address with a code is printed: %s", greeting)
	}
	if status, body, _ := fetched(
		t,
		srv.url()+"/v1/principal",
	); status != http.StatusUnauthorized ||
		!strings.Contains(body, "one-time code") {
		t.Errorf("without anything: %d %s", status, body)
	}
	status, _, header := fetched(t, address)
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	if status != http.StatusSeeOther || cookie == "" {
		t.Fatalf("the address answers %d, cookie %q", status, cookie)
	}
	if status, body, _ := fetched(t, srv.url()+"/v1/principal", "Cookie", cookie); status != http.StatusOK {
		t.Errorf("signed in: %d %s", status, body)
	}
	if status, _, _ := fetched(t, address); status != http.StatusUnauthorized {
		t.Errorf("the address again: %d", status)
	}
	c, err := (&flags{data: srv.settings.DataDir}).connect(environment(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Principal(t.Context()); err != nil {
		t.Errorf("the command line: %v", err)
	}
	if strings.Contains(log.text.String(), srv.code) {
		t.Error("the log holds the code")
	}
}

func TestWhereTheKernelTellsNoCodeIsPrinted(t *testing.T) { //nolint:paralleltest // goleak counts
	srv, greeting := served(t, io.Discard, kernel{}, func(*settings) {})
	if strings.Contains(greeting, "code=") {
		t.Errorf("a code is printed: %s", greeting)
	}
	if status, body, _ := fetched(t, srv.url()+"/v1/principal"); status != http.StatusOK {
		t.Errorf("the own user: %d %s", status, body)
	}
}

// TestInsecureLocalSaysSo: in the greeting, the log and on the page.
func TestInsecureLocalSaysSo(t *testing.T) { //nolint:paralleltest // goleak counts
	log := &lockedLog{}
	nobody := func(context.Context) error { return peer.ErrNobody }
	srv, greeting := served(t, log, kernel{check: nobody, own: nobody}, func(s *settings) { s.InsecureLocal = true })
	if status, body, _ := fetched(t, srv.url()+"/v1/principal"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	_, page, _ := fetched(t, srv.url()+"/settings/models")
	for place, text := range map[string]string{"the greeting": greeting, "the log": log.text.String(),
		"the page": page} {
		if !strings.Contains(text, "every user of this machine") {
			t.Errorf("%s does not say so: %s", place, text)
		}
	}
	found := diagnose(
		t.Context(),
		&flags{data: srv.settings.DataDir},
		environment(map[string]string{"PARLEY_INSECURE_LOCAL": "true"}),
	)
	for _, f := range found {
		if f.Check == "insecure_local" && f.State == "problem" {
			return
		}
	}
	t.Errorf("doctor does not say so: %+v", found)
}
