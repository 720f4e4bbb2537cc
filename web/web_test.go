package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func get(t *testing.T, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	handler, err := Handler("")
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// TestTheArchiveIsTheBuild: what is embedded is web/dist, and nothing else.
func TestTheArchiveIsTheBuild(t *testing.T) {
	t.Parallel()
	archive, err := dist()
	if err != nil {
		t.Fatal(err)
	}
	built := os.DirFS("dist")
	files := 0
	if err := fs.WalkDir(built, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		want, err := fs.ReadFile(built, name)
		if err != nil {
			return err
		}
		if got, err := fs.ReadFile(archive, name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v): run make page, and commit web/dist.zip", name, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if files != len(archive.File) {
		t.Errorf("the archive has %d files, the build %d: run make page", len(archive.File), files)
	}
}

func TestThePagesAddressesAreThePage(t *testing.T) {
	t.Parallel()
	router, err := os.ReadFile("src/router.tsx")
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/", "/index.html"}
	for _, path := range regexp.MustCompile(`path: '(/[^']*)'`).FindAllStringSubmatch(string(router), -1) {
		paths = append(paths, strings.ReplaceAll(path[1], "$", ""))
	}
	if len(paths) < 15 {
		t.Fatalf("src/router.tsx names %d paths", len(paths))
	}
	for _, path := range paths {
		w := get(t, path)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") ||
			!strings.Contains(w.Body.String(), `id="root"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
	}
	for _, path := range []string{"/wp-login.php", "/assets/nothing.js", "/../web.go", "/assets/../../web.go"} {
		if w := get(t, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, w.Code)
		}
	}
}

func TestAPersonIsShownWhereToGo(t *testing.T) {
	t.Parallel()
	w := get(t, "/nowhere", "Accept", "text/html,*/*;q=0.8")
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `id="root"`) ||
		w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := get(
		t,
		"/assets/nothing.js",
		"Accept",
		"*/*",
	); w.Code != http.StatusNotFound ||
		strings.Contains(w.Body.String(), "root") {
		t.Errorf("a script that is not there: %d %s", w.Code, w.Body)
	}
}

func TestFilesAreAskedForAgainAndAnsweredByTheirETag(t *testing.T) {
	t.Parallel()
	first := get(t, "/assets/index.js")
	if first.Header().Get("Cache-Control") != "no-cache" ||
		first.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("headers %v", first.Header())
	}
	if again := get(
		t,
		"/assets/index.js",
		"If-None-Match",
		first.Header().Get("ETag"),
	); again.Code != http.StatusNotModified ||
		again.Body.Len() > 0 {
		t.Errorf("the same file again: %d with %d bytes", again.Code, again.Body.Len())
	}
	small := get(t, "/assets/index.js", "Accept-Encoding", "gzip")
	if small.Header().Get("ETag") == first.Header().Get("ETag") {
		t.Error("the small form has the ETag of the plain one")
	}
	reader, err := gzip.NewReader(small.Body)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(reader); err != nil || string(plain) != first.Body.String() {
		t.Errorf("the small form is another file (%v)", err)
	}
}

// maxFirstScripts is what a browser loads before it shows anything, in bytes of
// gzip: 220 KB.
const maxFirstScripts = 220_000

func TestWhatIsLoadedFirstIsSmall(t *testing.T) {
	t.Parallel()
	page := get(t, "/").Body.String()
	sum := 0
	for _, piece := range strings.Split(page, `"`) {
		if strings.HasPrefix(piece, "/assets/") && strings.HasSuffix(piece, ".js") {
			sum += get(t, piece, "Accept-Encoding", "gzip").Body.Len()
		}
	}
	if sum == 0 || sum > maxFirstScripts {
		t.Errorf("the page loads %d bytes of scripts first, bound %d", sum, maxFirstScripts)
	}
}

func TestThePageMayRunItsOwnScriptsAlone(t *testing.T) {
	t.Parallel()
	w := get(t, "/")
	for _, says := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'",
		"frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), says) {
			t.Errorf("the policy %q lacks %s", w.Header().Get("Content-Security-Policy"), says)
		}
	}
	if strings.Contains(w.Body.String(), "https://") || strings.Contains(w.Body.String(), "onload=") {
		t.Error("the page names something of elsewhere, or runs a script of its own text")
	}
}

// maxHandlerBytes is what the handler takes before anything is asked for: its names, about 750 bytes for each file.
const maxHandlerBytes = 96 << 10

func TestNothingIsReadBeforeItIsAskedFor(t *testing.T) {
	var before, after runtime.MemStats // of the whole process: no other test runs beside this one
	runtime.ReadMemStats(&before)
	if _, err := Handler(""); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > maxHandlerBytes {
		t.Errorf("the handler took %d bytes before anything was asked for, bound %d", took, maxHandlerBytes)
	}
}

// A notice stands on every page of the page's own, and in nothing else.
func TestANoticeStandsOnEveryPage(t *testing.T) {
	t.Parallel()
	handler, err := Handler("Anyone <may> do everything.")
	if err != nil {
		t.Fatal(err)
	}
	for path, wanted := range map[string]bool{"/": true, "/c/0190": true, "/settings/models": true,
		"/assets/index.js": false} {
		for _, encoding := range []string{"", "gzip"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Accept-Encoding", encoding)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			var body io.Reader = w.Body
			if encoding != "" {
				if body, err = gzip.NewReader(w.Body); err != nil {
					t.Fatal(err)
				}
			}
			shown, err := io.ReadAll(body)
			if err != nil || strings.Contains(string(shown), "Anyone &lt;may&gt; do everything.") != wanted {
				t.Errorf("%s (%s): %v, the notice is there: %t", path, encoding, err, !wanted)
			}
		}
	}
	noticed := httptest.NewRecorder()
	handler.ServeHTTP(noticed, httptest.NewRequest(http.MethodGet, "/", nil))
	if noticed.Header().Get("ETag") == get(t, "/").Header().Get("ETag") {
		t.Error("the page with the notice has the ETag of the one without")
	}
}
