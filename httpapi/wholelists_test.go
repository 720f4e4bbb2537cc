package httpapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"example.org/parley"
	"example.org/parley/tool/builtin"
)

// Lists that are answered whole also come in pages: the same rows in the same order, whatever the pages' size.
func TestWholeListsHavePages(t *testing.T) {
	t.Parallel()
	s := startServerWithTools(t, builtin.Tools())
	shared, read := s.session(`{}`).ID.String(), s.session(`{}`).ID.String()
	for range 4 {
		reader := s.session(`{}`).ID.String()
		want[parley.Share](s, 201, "PUT", "/v1/sessions/"+shared+"/shares/"+reader, "")
		want[parley.Share](s, 201, "PUT", "/v1/sessions/"+reader+"/shares/"+read, "")
	}
	for _, list := range []string{
		"/v1/tools?", "/v1/models?", "/v1/sessions/" + shared + "/shares?",
		"/v1/sessions/" + read + "/shares?direction=in&",
	} {
		whole := want[page[json.RawMessage]](s, 200, "GET", list, "")
		if len(whole.Data) < 3 || whole.Next != nil {
			t.Fatalf("%s has %d rows and goes on after %v", list, len(whole.Data), whole.Next)
		}
		for size := 1; size <= len(whole.Data); size++ {
			var rows []json.RawMessage
			cursor := ""
			for len(rows) <= len(whole.Data) {
				part := want[page[json.RawMessage]](s, 200, "GET",
					fmt.Sprintf("%slimit=%d&cursor=%s", list, size, url.QueryEscape(cursor)), "")
				if len(part.Data) > size {
					t.Errorf("%s: a page of %d has %d rows", list, size, len(part.Data))
				}
				if rows = append(rows, part.Data...); part.Next == nil {
					break
				}
				cursor = *part.Next
			}
			if fmt.Sprintf("%s", rows) != fmt.Sprintf("%s", whole.Data) {
				t.Errorf("%s in pages of %d:\n%s\nwhole:\n%s", list, size, rows, whole.Data)
			}
		}
		want[Problem](s, 422, "GET", list+"cursor=nonsense", "")
		want[Problem](s, 422, "GET", list+"limit=1001", "")
	}
	next := want[page[json.RawMessage]](s, 200, "GET", "/v1/tools?limit=1", "").Next
	want[Problem](s, 422, "GET", "/v1/models?cursor="+url.QueryEscape(*next), "")
}
