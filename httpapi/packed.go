package httpapi

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2/yaml"
)

// The API's description, as make generate writes it. It is compressed in the binary and mostly sent that way: no
// request builds it, and an idle process holds none of it in memory.
//
//go:embed openapi.json.gz
var packedJSON []byte

// packedYAML returns the same as YAML, compressed. It is made at the first request for it, because few ask for it and
// it would add 100 kB to the program.
var packedYAML = sync.OnceValues(func() ([]byte, error) { //nolint:gochecknoglobals // set once
	unpacked, err := gzip.NewReader(bytes.NewReader(packedJSON))
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	if err := yaml.Convert(packer, unpacked); err != nil {
		return nil, err
	}
	err = packer.Close()
	return packed.Bytes(), err
})

// Document is the API's description as JSON, as it is served.
func Document() ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packedJSON))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked) //nolint:gosec // part of this program, not from outside
}

func serveOpenAPI(_ *api, x *exchange) error {
	return x.sendPacked("application/openapi+json", packedJSON)
}

func serveOpenAPIYAML(_ *api, x *exchange) error {
	packed, err := packedYAML()
	if err != nil {
		return err
	}
	return x.sendPacked("application/openapi+yaml", packed)
}

// sendPacked answers with embedded gzip, unpacked for clients that do not accept gzip.
func (x *exchange) sendPacked(media string, packed []byte) error {
	header := x.w.Header()
	header.Set("Content-Type", media)
	header.Set("Cache-Control", "no-cache") // the ETag reveals a new version
	header.Set("Vary", "Accept-Encoding")
	sum := hex.EncodeToString(packed[len(packed)-gzipTrailer:])
	if takesGzip(x.r) {
		header.Set("ETag", `"`+sum+`-gzip"`)
		header.Set("Content-Encoding", "gzip")
		http.ServeContent(x.w, x.r, "", time.Time{}, bytes.NewReader(packed))
		return nil
	}
	etag := `"` + sum + `"`
	header.Set("ETag", etag)
	if strings.Contains(x.r.Header.Get("If-None-Match"), etag) {
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	x.w.WriteHeader(http.StatusOK)
	if x.r.Method != http.MethodHead {
		_, _ = io.Copy(
			x.w,
			unpacked,
		) //nolint:gosec // part of this program; the client may be gone
	}
	return nil
}

// gzipTrailer is the length of gzip's trailer: the content's checksum and length.
const gzipTrailer = 8

// takesGzip reports whether the client accepts gzip.
func takesGzip(r *http.Request) bool {
	for _, line := range r.Header["Accept-Encoding"] {
		for one := range strings.SplitSeq(line, ",") {
			name, weight, weighed := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			if !weighed {
				return true
			}
			_, q, _ := strings.Cut(weight, "=")
			weighs, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return err == nil && weighs > 0
		}
	}
	return false
}
