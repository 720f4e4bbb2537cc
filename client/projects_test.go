package client_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"

	"example.org/parley"
)

// A directory is asked for by its path as it is, and null is empty.
func TestDirectories(t *testing.T) {
	t.Parallel()
	var asked url.Values
	id := parley.NewID()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		_, _ = io.WriteString(
			w,
			`{"path":"/a b","root":"/","parent":null,"project_id":null,"data":[{"name":"c","path":"/a b/c",`+
				`"project_id":"`+id.String()+`"}],"truncated":true}`,
		)
	})
	query := url.Values{"hidden": {"true"}}
	got, err := c.Directories(t.Context(), "/a b", query)
	if err != nil || got.Path != "/a b" || got.Parent != "" || !got.ProjectID.IsZero() || !got.Truncated ||
		len(got.Data) != 1 ||
		got.Data[0].ProjectID != id {
		t.Errorf("got %+v, %v", got, err)
	}
	if asked.Get("path") != "/a b" || asked.Get("hidden") != "true" || query.Has("path") {
		t.Errorf("asked for %v, of %v", asked, query)
	}
}
