package builtin

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.org/parley/tool"
)

type searched string

func (s searched) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{},
		Body:       io.NopCloser(strings.NewReader(string(s))),
		Request:    r,
	}, nil
}

// FuzzSearchResults: every answer of a search service, and every query of a model, gives a result or an error.
func FuzzSearchResults(f *testing.F) {
	f.Add(`{"results":[{"title":"a","url":"javascript:x","content":"b","score":1e99}]}`, []byte(`{"query":"a"}`))
	f.Add(`[`, []byte(`{"query":"","max_results":-1}`))
	f.Fuzz(func(t *testing.T, answer string, arguments []byte) {
		search, err := NewWebSearch(WebSearchOptions{Key: "secret-key-1", BaseURL: "http://search.test"})
		if err != nil {
			t.Fatal(err)
		}
		search.tool.client.Transport = searched(answer)
		for _, one := range append(search.Tools(), Tools().Tools()...) {
			if one.Definition().Name != "web_search" && one.Definition().Name != "current_time" {
				continue
			}
			result, err := one.Call(t.Context(), tool.Call{Arguments: arguments})
			if err == nil && !json.Valid(result.JSON) {
				t.Errorf("%s of %q gives %s", one.Definition().Name, arguments, result.JSON)
			}
		}
	})
}
