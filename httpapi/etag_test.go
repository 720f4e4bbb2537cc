package httpapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
)

// TestConditionalChanges: a change with If-Match is made only if nothing changed since its caller read it.
func TestConditionalChanges(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Liz"}`)
	session := s.session(`{"title":"One","metadata":{"a":1}}`)
	project := want[parley.Project](s, 201, "POST", "/v1/projects", fmt.Sprintf(`{"path":%q}`, s.subdirectory("site")))
	for _, test := range []struct{ path, first, second string }{
		{"/v1/projects/" + project.ID.String(), `{"name":"1"}`, `{"name":"2"}`},
		{"/v1/agents/" + agent.ID.String(), `{"description":"1"}`, `{"description":"2"}`},
		{"/v1/sessions/" + session.ID.String(), `{"title":"1"}`, `{"title":"2"}`},
	} {
		read := s.do("GET", test.path, "")
		etag := read.header.Get("ETag")
		if again := s.do("GET", test.path, "").header.Get("ETag"); etag == "" || again != etag {
			t.Errorf("%s: the ETag is %s, and then %s", test.path, etag, again)
		}
		if got := s.do("GET", test.path, "", "If-None-Match", `"x", W/`+etag); got.status != 304 || len(got.body) > 0 {
			t.Errorf("%s unchanged: %d %s", test.path, got.status, got.body)
		}
		if got := s.do("PATCH", test.path, test.first, "If-Match", etag); got.status != 200 {
			t.Errorf("%s with its ETag: %d %s", test.path, got.status, got.body)
		}
		got := s.do("PATCH", test.path, test.second, "If-Match", etag)
		if got.status != 412 || got.problem(t).Code != parley.CodeChanged ||
			!strings.Contains(got.problem(t).Detail, "Read it again") {
			t.Errorf("%s with a former ETag: %d %s", test.path, got.status, got.body)
		}
		changed := s.do("GET", test.path, "", "If-None-Match", etag)
		if changed.status != 200 || strings.Contains(string(changed.body), `:"2"`) {
			t.Errorf("%s after a refused change: %d %s", test.path, changed.status, changed.body)
		}
		for _, current := range []func() string{
			func() string { return "*" },
			func() string { return s.do("GET", test.path, "").header.Get("ETag") },
		} {
			if got := s.do("PATCH", test.path, test.second, "If-Match", current()); got.status != 200 {
				t.Errorf("%s as it is: %d %s", test.path, got.status, got.body)
			}
		}
		if got := s.do("PATCH", test.path, test.first); got.status != 200 {
			t.Errorf("%s without a condition: %d", test.path, got.status)
		}
	}
}

// TestAPatchThatChangesNothing: it appears neither in the workspace's feed nor in the audit as a change.
func TestAPatchThatChangesNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"title":"One","tags":["a"],"metadata":{"a":1},"model":"sim/echo"}`)
	path := "/v1/sessions/" + session.ID.String()
	before := s.do("GET", path, "").body
	feed := s.stream("GET", "/v1/events", "", "Authorization", "Bearer "+testToken)
	feed.until("resync")
	for _, same := range []string{
		`{}`, `{"title":"One"}`, `{"tags":["a"],"metadata":{ "a": 1 }}`, `{"model":"sim/echo","archived":false}`,
	} {
		if got := s.do("PATCH", path, same); got.status != 200 || !bytes.Equal(got.body, before) {
			t.Errorf("%s: %d %s", same, got.status, got.body)
		}
	}
	want[parley.Session](s, 200, "PATCH", path, `{"title":"Two"}`)
	if frames := feed.until("session.updated"); !strings.Contains(string(frames[len(frames)-1].data.Data), `"Two"`) {
		t.Errorf("the feed tells of a change that was none: %v", frames)
	}
}

// TestMergePatch: every PATCH also accepts the media type of RFC 7396, and no other request does.
func TestMergePatch(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	path := "/v1/sessions/" + s.session(`{}`).ID.String()
	if got := s.do("PATCH", path, `{"title":"One"}`, "Content-Type", mergePatch); got.status != 200 {
		t.Errorf("PATCH: %d %s", got.status, got.body)
	}
	if got := s.do("POST", "/v1/sessions", `{}`, "Content-Type", mergePatch); got.status != 415 {
		t.Errorf("POST: %d %s", got.status, got.body)
	}
}

// TestCompression: a large response is compressed only if no other site's page can have requested it.
func TestCompression(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"instructions":"` + strings.Repeat("Be brief. ", 200) + `"}`)
	path := "/v1/sessions/" + session.ID.String()
	plain := s.do("GET", path, "", "Accept-Encoding", "identity")
	for _, test := range []struct {
		name, method, path string
		compressed         bool
		headers            []string
	}{
		{"a read", "GET", path, true, nil},
		{"a list", "GET", "/v1/sessions", true, nil},
		{"a small answer", "GET", "/v1/sessions?limit=1&type=none", false, nil},
		{"gzip refused", "GET", path, false, []string{"Accept-Encoding", "gzip;q=0"}},
		{"a request that a page may send", "GET", path, false, []string{"Authorization", ""}},
		{"the page's own request", "GET", path, true, []string{"Authorization", "", "Sec-Fetch-Site", "same-origin"}},
		{"a change", "PATCH", path, false, nil},
		{"a stream", "GET", "/v1/sessions/" + session.ID.String() + "/events", false, nil},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, s.url+test.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept-Encoding", "gzip")
		request.Header.Set("Authorization", "Bearer "+testToken)
		for i := 0; i < len(test.headers); i += 2 {
			request.Header.Set(test.headers[i], test.headers[i+1])
			if test.headers[i+1] == "" {
				request.Header.Del(test.headers[i])
			}
		}
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := response.Header.Get(
			"Content-Encoding",
		) == "gzip"; got != test.compressed ||
			response.StatusCode != http.StatusOK {
			t.Errorf("%s: compressed %t, status %d", test.name, got, response.StatusCode)
		}
		if test.compressed && test.path == path {
			unpacked, err := gzip.NewReader(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(body, plain.body) {
				t.Errorf("%s: unpacks as %s, %v", test.name, body, err)
			}
			etag := response.Header.Get("ETag")
			if got := s.do("PATCH", path, `{}`, "If-Match", etag); got.status != 200 {
				t.Errorf("%s: its ETag %s: %d %s", test.name, etag, got.status, got.body)
			}
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
