package client

import (
	"fmt"
	"strings"

	"example.org/parley/internal/gen/operations"
)

const referenceFile = "docs/reference/client.md"

// reference returns the documentation page: every method by subject.
func reference(api *operations.API) string {
	var out strings.Builder
	out.WriteString(`# The Go client

<!-- Made by make generate from the API's description. Do not edit. -->

Every operation of the API as a method of ` + "`client.Client`" + `.
[The library's page](../library.md#a-servers-client) says what holds for all of them. A method that lists has a second
one that ranges over all pages; a stream is a range of frames. Each takes a context first and options last.
` + "`go doc`" + ` shows the fields of inputs, queries and answers.
`)
	tag := ""
	for _, o := range api.Operations {
		if o.Tag != tag {
			tag = o.Tag
			fmt.Fprintf(
				&out,
				"\n## %s\n\n| method | what it does | request |\n|---|---|---|\n",
				strings.ToUpper(tag[:1])+tag[1:],
			)
		}
		names := "`" + o.GoName() + "`"
		if o.Paged() {
			names += ", `" + o.Iterator() + "`"
		}
		fmt.Fprintf(&out, "| %s | %s | `%s %s` |\n", names, strings.TrimSuffix(sentence(o), "."), o.Method, o.Path)
	}
	return out.String()
}
