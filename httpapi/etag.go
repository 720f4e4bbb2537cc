package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"

	"example.org/parley"
)

// Answers to reads carry an ETag, the hash of their JSON. If-None-Match turns a repeat into 304, and If-Match makes a
// change conditional on what its caller has read.

// etagBytes is how much of the hash an ETag has.
const etagBytes = 16

// gzipTag marks the ETag of a compressed answer, whose bytes differ.
const gzipTag = "-gzip"

func etagOf(body []byte) string {
	sum := parley.HashOf(body)
	return `"` + hex.EncodeToString(sum[:etagBytes]) + `"`
}

// names reports whether a header's list of ETags contains one. A tag counts for the compressed answer too.
func names(lines []string, etag string) bool {
	for _, line := range lines {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
			if one == "*" || one == etag || strings.TrimSuffix(one, gzipTag+`"`)+`"` == etag {
				return true
			}
		}
	}
	return false
}

// ifMatch returns the check of a conditional change: it refuses a current state that is not the one that the caller has
// read. nil if the request sets no condition.
func ifMatch[T any](x *exchange, encode func(T) ([]byte, error)) func(current T) error {
	given := x.r.Header["If-Match"]
	if len(given) == 0 {
		return nil
	}
	return func(current T) error {
		body, err := encode(current)
		if err != nil || names(given, etagOf(body)) {
			return err
		}
		return parley.Errorf(
			parley.CodeChanged,
			"Somebody changed this since you read it: If-Match does not name its current ETag %s. Read it again and "+
				"repeat the change.",
			etagOf(body),
		)
	}
}

// compressFrom is the size from which an answer is compressed.
const compressFrom = 1 << 10

// compressors are reused: each takes more memory than most answers.
//
//nolint:gochecknoglobals // a pool serves the whole process
var compressors = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
	return w
}}

// mayCompress reports whether an answer may be compressed. The length of a compressed answer tells about its content
// (BREACH), if somebody who watches the line can have a browser repeat a request with words of his own in it. So only
// those requests are compressed that no foreign page can send: with a key in their header, or from the page itself.
// Answers that show a new secret answer a POST, and are never compressed.
func (x *exchange) mayCompress() bool {
	return x.r.Method == http.MethodGet && takesGzip(x.r) &&
		(x.r.Header.Get("Authorization") != "" || x.r.Header.Get("Sec-Fetch-Site") == "same-origin")
}

// compressed returns the gzip of an answer.
func compressed(body []byte) ([]byte, error) {
	var out bytes.Buffer
	w, _ := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(&out)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
