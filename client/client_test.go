package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// serve answers every request with one handler.
func serve(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{URL: server.URL, Key: "pk_test", Workspace: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRequestsCarryKeyAndWorkspace(t *testing.T) {
	t.Parallel()
	var got http.Header
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.WriteString(w, `{"data":[],"next":null}`)
	})
	if _, err := c.Sessions(t.Context(), client.SessionsQuery{}); err != nil {
		t.Fatal(err)
	}
	if got.Get("Authorization") != "Bearer pk_test" || got.Get("Parley-Workspace") != "acme" {
		t.Errorf("headers %v", got)
	}
}

func TestProblemsBecomeErrors(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(
			w,
			`{"code":"invalid","detail":"content.text: is empty","errors":[{"field":"content.text","message":"is `+
				`empty"}]}`,
		)
	})
	_, err := c.Session(t.Context(), parley.NewID())
	var known *parley.Error
	if !errors.As(err, &known) || known.Code != parley.CodeInvalid || known.Field != "content.text" ||
		known.Message != "content.text: is empty" {
		t.Errorf("got %#v", err)
	}
}

func TestAnswersThatAreNotParleys(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"an error page": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"a page":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
	} {
		c := serve(t, handler)
		if _, err := c.Session(t.Context(), parley.NewID()); parley.ErrorCode(err) != parley.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := client.New(client.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Principal(
		t.Context(),
	); parley.ErrorCode(err) != parley.CodeUnavailable ||
		!strings.Contains(err.Error(), "parley serve") {
		t.Errorf("got %v", err)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"localhost:7878", "ftp://host", "http://", "::"} {
		if _, err := client.New(client.Options{URL: address}); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%q: %v", address, err)
		}
	}
}
