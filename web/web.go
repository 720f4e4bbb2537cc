// Package web serves the page from web/dist, the build of web/src. It is committed, and packed into web/dist.zip,
// which is embedded in the binary.
package web

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // for the page's files
	"encoding/hex"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed dist.zip
var packed string

// dist has the page's files. It is not kept: a server that nobody looks at holds none of it.
func dist() (*zip.Reader, error) { return zip.NewReader(strings.NewReader(packed), int64(len(packed))) }

// policy lets the page run its own scripts and ask its own server, nothing else.
// Styles may stand in elements: the library of menus and dialogs writes one while
// such a thing is open.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; img-src 'self' blob: " +
	"data:; " +
	"style-src 'self' 'unsafe-inline'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'"

// address reports whether a path whose first segment this is is one of the page's
// own; src/router.tsx has them whole.
func address(first string) bool {
	switch first {
	case "", "new", "c", "inbox", "team", "agents", "projects", "documents", "runs", "usage", "search", "audit",
		"settings":
		return true
	}
	return false
}

const index = "index.html"

// file is one file of the page. What it takes is made when it is first asked for: a
// server that nobody looks at holds none of it.
type file struct {
	media string
	plain func() content
	small func() content // gzip of plain
}

// content is a form of a file.
type content struct {
	body []byte
	etag string
}

type page struct{ files map[string]*file }

// Handler answers GET and HEAD of the page's files, and of its addresses with the
// page itself, which finds its way from there. Anything else is 404; browsers are
// shown the page with it. notice stands above every page; "" is none.
func Handler(notice string) (http.Handler, error) {
	p := &page{files: map[string]*file{}}
	tree, err := dist()
	if err != nil {
		return nil, err
	}
	for _, one := range tree.File {
		p.files[one.Name] = newFile(one.Name, notice)
	}
	return p, nil
}

func newFile(name, notice string) *file {
	media := "application/octet-stream"
	switch path.Ext(name) { // not left to the machine's own table, which would be read for it
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
	if name != index {
		notice = ""
	}
	return &file{
		media: media,
		plain: sync.OnceValue(func() content { return read(name, notice) }),
		small: sync.OnceValue(func() content {
			whole := read(name, notice) // not kept: browsers ask for the small form alone
			return content{body: compressed(whole.body), etag: whole.etag + "-gzip"}
		}),
	}
}

// noticeStyle makes room above the page for a notice; src/styles.css has --notice.
const noticeStyle = `<style>:root { --notice: 24px } @media (max-width: 32rem) { :root { --notice: 40px } }
  body { padding-top: var(--notice) }</style>
  </head>`

// noticeBox shows a notice above whatever the page shows.
const noticeBox = `<body>
    <section aria-label="Notice" style="position:fixed;inset:0 0 auto;z-index:1000;height:var(--notice);display:flex;` +
	`align-items:center;justify-content:center;padding:0 12px;text-align:center;` +
	`background:#b91c1c;color:#fff;font:12px/16px sans-serif">`

func read(name, notice string) content {
	tree, _ := dist() // Handler has read it
	body, _ := fs.ReadFile(tree, name)
	if notice != "" {
		body = bytes.Replace(body, []byte("</head>"), []byte(noticeStyle), 1)
		body = bytes.Replace(body, []byte("<body>"), []byte(noticeBox+html.EscapeString(notice)+"</section>"), 1)
	}
	sum := sha256.Sum256(body)
	return content{body: body, etag: hex.EncodeToString(sum[:16])}
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is a valid one
	_, _ = writer.Write(body)                                    // a buffer takes everything
	_ = writer.Close()
	return out.Bytes()
}

// missing answers with 404 what would be a success.
type missing struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (m *missing) WriteHeader(status int) {
	if status == http.StatusOK {
		status = http.StatusNotFound
	}
	m.ResponseWriter.WriteHeader(status)
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	found := p.files[name]
	first, _, _ := strings.Cut(name, "/")
	if found == nil && address(first) || name == index {
		found = p.files[index]
	}
	if found == nil && !strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.NotFound(w, r)
		return
	}
	if found == nil { // a person: the page tells them, and where to go
		found, w = p.files[index], &missing{w}
	}
	header := w.Header()
	header.Set("Content-Type", found.media)
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-cache") // names carry no hash: the ETag tells
	header.Set("Vary", "Accept-Encoding")
	form := found.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		form = found.small
		header.Set("Content-Encoding", "gzip")
	}
	sent := form()
	header.Set("ETag", `"`+sent.etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(sent.body))
}
