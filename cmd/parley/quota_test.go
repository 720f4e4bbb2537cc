package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// Quotas of the server and of a key are kept over HTTP, and say what to do.
func TestQuotasOverHTTP(t *testing.T) { //nolint:paralleltest // an estate sets HOME
	e := newEstate(t)
	writeFile(t, filepath.Join(e.data, settingsFile), "max_sessions: 3\nmax_storage: 1MiB\n")
	_, end := e.open("member", nil)
	defer end()
	c, err := (&flags{data: e.data}).connect(environment(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key, err := c.CreateKey(
		t.Context(),
		client.KeyInput{Name: "small", Role: parley.RoleMember, MaxSessions: 1, MaxStorage: 10},
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range []struct {
		key, path, body string
		status          int
		state           string
	}{
		{key.Secret, "/v1/sessions", "{}", http.StatusCreated, ""},
		{key.Secret, "/v1/sessions", "{}", http.StatusConflict, "sessions_quota"},
		{e.signedIn(key.Secret), "/v1/sessions", "{}", http.StatusConflict, "sessions_quota"},
		{e.member, "/v1/sessions", "{}", http.StatusCreated, ""},
		{e.member, "/v1/sessions", "{}", http.StatusCreated, ""},
		{e.member, "/v1/sessions", "{}", http.StatusConflict, "sessions_quota"},
		{e.local, "/v1/sessions", "{}", http.StatusConflict, "sessions_quota"},
		{key.Secret, "/v1/files?name=a", "123456", http.StatusCreated, ""},
		{key.Secret, "/v1/files?name=b", "12345", http.StatusConflict, "storage_quota"},
		{e.member, "/v1/files?name=c", strings.Repeat("x", 1<<19), http.StatusCreated, ""},
		{e.member, "/v1/files?name=d", strings.Repeat("y", 1<<20), http.StatusConflict, "storage_quota"},
		{e.member, "/v1/files?name=e", strings.Repeat("z", 1<<18), http.StatusCreated,
			""}, // what was refused left nothing
	} {
		status, answer := e.ask(one.key, http.MethodPost, one.path, one.body)
		if status != one.status ||
			one.state != "" &&
				(!strings.Contains(answer, `"state":"`+one.state+`"`) ||
					!strings.Contains(answer, "Delete some, or ")) {
			t.Errorf("%d: %s: status %d: %s", i, one.path, status, answer)
		}
	}
	if _, answer := e.ask(
		e.local,
		http.MethodGet,
		"/v1/keys",
		"",
	); !strings.Contains(
		answer,
		`"max_sessions":1,"max_storage":10`,
	) {
		t.Errorf("the keys: %s", answer)
	}
	page, err := c.Keys(t.Context())
	if err != nil || len(page.Data) != 2 || keyLimits(&page.Data[0]) != "sessions: 1, files: 10" {
		t.Errorf("%+v, %v", page.Data, err)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0": 0, "17": 17, "1KiB": 1 << 10, "500MiB": 500 << 20, "3 GiB": 3 << 30,
		"1024TiB": 1 << 50} {
		var s size
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%q is %d, %v", text, s, err)
		}
		var again size
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%q is written as %q", text, s.String())
		}
	}
	for _, text := range []string{"", "-1", "1.5GiB", "GiB", "1PB", "1025TiB", "9999999999999999999"} {
		if err := new(size).Set(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	for _, line := range []string{"max_storage: 2GiB", "max_storage: 2147483648", `max_storage: "2GiB"`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, settingsFile), fmt.Appendln(nil, line), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := loadSettings(&flags{data: dir}, environment(nil)); err != nil || s.MaxStorage != 2<<30 {
			t.Errorf("%s: %d, %v", line, s.MaxStorage, err)
		}
	}
}
