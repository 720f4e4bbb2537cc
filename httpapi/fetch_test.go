package httpapi

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/tool/builtin"
)

// onePixel is a PNG.
const onePixel = "\x89PNG\r\n\x1a\n" +
	"\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"

// web is a website for fetch to read.
func web(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	as := func(mediaType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			_, _ = io.WriteString(w, body)
		}
	}
	mux.Handle("/page", as("text/html; charset=iso-8859-1",
		"<title>A caf\xe9</title><h1>Menu</h1><p><a href=/tea>Tea</a> &amp; cake"))
	mux.Handle("/moved", http.RedirectHandler("/page", http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	mux.Handle("/long.html", as("text/html", "<p>"+strings.Repeat("Ein Satz für die Seite.<br>", 15_000)+"<p>The end."))
	mux.Handle("/middle", as("text/plain", strings.Repeat("a line\n", 10_000)))
	mux.Handle("/data.json", as("application/json", `{"n":12345678901234567890}`))
	mux.Handle("/picture", as("image/png", onePixel))
	mux.Handle("/program", as("application/octet-stream", "\x7fELF\x02\x01\x01\x00\x00"))
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		zeroes := []byte(strings.Repeat("0", 1<<20))
		for range 512 { // 512 MiB in half a megabyte
			if _, err := packed.Write(zeroes); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/packed", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "x")
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	return site
}

// fetchedParts has an agent fetch an address, and returns the parts of the result or its error.
func (s *testServer) fetchedParts(arguments string) (parts []parley.Part, refusal string) {
	s.Helper()
	session := s.session(`{"model":"sim/script","tools":["fetch"]}`).ID.String()
	script, err := json.Marshal(`[[{"tool_call":{"name":"fetch","arguments":` + arguments + `}}],[{"text":"Read."}]]`)
	if err != nil {
		s.Fatal(err)
	}
	s.told(session, `{"content":{"text":`+string(script)+`}}`)
	results := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages?role=tool_result", "")
	if len(results.Data) != 1 {
		s.Fatalf("%s has %d results", arguments, len(results.Data))
	}
	var content struct {
		Parts []parley.Part `json:"parts"`
		Error *string       `json:"error"`
	}
	if err := json.Unmarshal(results.Data[0].Content, &content); err != nil {
		s.Fatal(err)
	}
	if content.Error != nil {
		return nil, *content.Error
	}
	return content.Parts, ""
}

// headOf reads the description that precedes a page's text.
func headOf(t *testing.T, parts []parley.Part) (head struct {
	Notice, URL, Title string
	MediaType          string `json:"media_type"`
	From, Bytes        int
	Next               *int
	Cut                bool
}) {
	t.Helper()
	if len(parts) < 2 {
		t.Fatalf("the result is %+v", parts)
	}
	if err := json.Unmarshal(parts[0].Object, &head); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(head.Notice, "from outside") {
		t.Errorf("the notice is %q", head.Notice)
	}
	return head
}

// TestFetch: pages become Markdown with their address, long ones arrive in pieces and as a file, images become files,
// and anything else is refused with a reason.
func TestFetch(t *testing.T) {
	t.Parallel()
	site := web(t)
	s := startServerWithTools(t, builtin.NewFetch(builtin.FetchOptions{AllowPrivate: true}))
	at := func(path string) string { return `{"url":"` + site.URL + path + `"}` }

	parts, refusal := s.fetchedParts(at("/moved"))
	if refusal != "" {
		t.Fatal(refusal)
	}
	head := headOf(t, parts)
	if head.URL != site.URL+"/page" || head.Title != "A café" || head.MediaType != "text/html" || head.Next != nil ||
		parts[1].Text != "# Menu\n\n[Tea]("+site.URL+"/tea) & cake" {
		t.Errorf("the page is %+v %q", head, parts[1].Text)
	}

	parts, refusal = s.fetchedParts(at("/long.html"))
	if refusal != "" {
		t.Fatal(refusal)
	}
	head = headOf(t, parts)
	if head.Next == nil || len(parts) != 3 || parts[2].Name != "long.md" || len(parts[1].Text) > 32<<10 {
		t.Fatalf("the long page is %+v in %d parts", head, len(parts))
	}
	whole := s.do("GET", "/v1/files/"+parts[2].FileID.String()+"/content", "")
	if len(whole.body) != head.Bytes || !strings.HasPrefix(string(whole.body), parts[1].Text) ||
		!strings.HasSuffix(string(whole.body), "The end.") {
		t.Errorf("the file of the long page has %d bytes", len(whole.body))
	}
	text := parts[1].Text
	for head.Next != nil {
		parts, refusal = s.fetchedParts(fmt.Sprintf(`{"url":%q,"from":%d}`, site.URL+"/long.html", *head.Next))
		if refusal != "" || len(parts) != 2 {
			t.Fatalf("%d parts, %s", len(parts), refusal)
		}
		head = headOf(t, parts)
		text += parts[1].Text
	}
	if text != string(whole.body) {
		t.Error("the pieces are not the page")
	}

	if parts, _ = s.fetchedParts(at("/middle")); headOf(t, parts).Next == nil || len(parts) != 2 {
		t.Errorf("a page that a model could be shown whole has %d parts", len(parts))
	}
	if parts, _ = s.fetchedParts(at("/data.json")); headOf(t, parts).MediaType != "application/json" ||
		parts[1].Text != `{"n":12345678901234567890}` {
		t.Errorf("the JSON is %+v", parts)
	}
	if parts, _ = s.fetchedParts(at("/picture")); headOf(t, parts).Bytes != len(onePixel) ||
		parts[1].Type != parley.PartImage || parts[1].FileID.IsZero() {
		t.Errorf("the picture is %+v", parts)
	}
	if parts, _ = s.fetchedParts(at("/bomb")); !headOf(t, parts).Cut || headOf(t, parts).Bytes > 8<<20 {
		t.Errorf("the bomb is %+v", headOf(t, parts))
	}
	for arguments, said := range map[string]string{
		at("/none"):    "404",
		at("/round"):   "more than 5 redirects",
		at("/program"): `"application/octet-stream" is neither`,
		at("/packed"):  `encoded as "br"`,
		`{"url":"` + site.URL + `/page","from":9000}`: "beyond the end",
		`{"url":"file:///etc/passwd"}`:                "is not an address of the web",
		`{"url":"//example.com"}`:                     "is not an address of the web",
		`{"url":"http://a:b@example.com/"}`:           "must not contain a user or a password",
		`{"url":"http://127.0.0.1:1/"}`:               "could not be read",
		`{"link":"http://example.com/"}`:              "link",
		`{"url":"http://[::1/"}`:                      "is not an address of the web",
		`{"url":"http://example.com","x":1}`:          "x",
	} {
		if parts, refusal := s.fetchedParts(arguments); !strings.Contains(refusal, said) {
			t.Errorf("%s: %q, %+v", arguments, refusal, parts)
		}
	}
}

// TestFetchReachesNothingPrivate: unless the operator allows it, fetch reads nothing on this machine, however the
// address is written and wherever a redirect leads.
func TestFetchReachesNothingPrivate(t *testing.T) {
	t.Parallel()
	site := web(t)
	s := startServerWithTools(t, builtin.NewFetch(builtin.FetchOptions{}))
	port := site.URL[strings.LastIndex(site.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "[::ffff:127.0.0.1]"} {
		if parts, refusal := s.fetchedParts(`{"url":"http://` + host + port + `/page"}`); refusal == "" {
			t.Errorf("%s: read %+v", host, parts)
		}
	}
}
