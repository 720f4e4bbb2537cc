// Package openapi generates the API's description as the program serves it: as JSON for people and generators, and
// compressed for the binary.
package openapi

import (
	"bytes"
	"compress/gzip"

	"example.org/parley/httpapi"
)

// Files returns the documents by their paths below the module's root.
func Files(string) (map[string][]byte, error) {
	document, err := httpapi.OpenAPI()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"httpapi/openapi.json":    document,
		"httpapi/openapi.json.gz": compressed(document),
	}, nil
}

func compressed(document []byte) []byte {
	var out bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = writer.Write(document)                                // writing to a buffer cannot fail
	_ = writer.Close()
	return out.Bytes()
}
