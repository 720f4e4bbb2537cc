// Package web serves the page: what web/src builds into web/dist, which is
// committed and stands inside the binary.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed all:dist
var dist embed.FS

// policy lets the page run its own scripts and ask its own server, nothing else.
// Styles may stand in elements: the library of menus and dialogs writes one while
// such a thing is open.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; img-src 'self' blob: data:; " +
	"style-src 'self' 'unsafe-inline'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// address reports whether a path whose first segment this is is one of the page's
// own; src/router.tsx has them whole.
func address(first string) bool {
	switch first {
	case "", "new", "c", "inbox", "agents", "projects", "usage", "search", "audit", "settings":
		return true
	}
	return false
}

const index = "index.html"

// file is one file of the page.
type file struct {
	media string
	etag  string
	plain []byte
	small func() []byte // gzip of plain, made when it is first asked for
}

type page struct{ files map[string]*file }

// Handler answers GET and HEAD of the page's files, and of its addresses with the
// page itself, which finds its way from there. Anything else is 404.
func Handler() (http.Handler, error) {
	p := &page{files: map[string]*file{}}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		p.files[strings.TrimPrefix(name, "dist/")] = newFile(name, body)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func newFile(name string, body []byte) *file {
	sum := sha256.Sum256(body)
	media := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) { // not left to the machine's own table
	case ".js":
		media = "text/javascript; charset=utf-8"
	case ".css":
		media = "text/css; charset=utf-8"
	case ".html":
		media = "text/html; charset=utf-8"
	case ".svg":
		media = "image/svg+xml"
	case ".md":
		media = "text/plain; charset=utf-8"
	}
	return &file{
		media: media, etag: `"` + hex.EncodeToString(sum[:16]) + `"`, plain: body,
		small: sync.OnceValue(func() []byte { return compressed(body) }),
	}
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is a valid one
	_, _ = writer.Write(body)                                    // a buffer takes everything
	_ = writer.Close()
	return out.Bytes()
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	found := p.files[name]
	first, _, _ := strings.Cut(name, "/")
	if found == nil && address(first) || name == index {
		found = p.files[index]
	}
	if found == nil {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", found.media)
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-cache") // names carry no hash: the ETag tells
	header.Set("ETag", found.etag)
	header.Set("Vary", "Accept-Encoding")
	body := found.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body = found.small()
		header.Set("Content-Encoding", "gzip")
		header.Set("ETag", strings.TrimSuffix(found.etag, `"`)+`-gzip"`)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
