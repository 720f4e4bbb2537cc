package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// maxImportBody bounds the body of an import: the file's text is a string in it, where quotes and line ends take two
// bytes.
const maxImportBody = 2 * engine.MaxImportBytes

func serveImport(a *api, x *exchange) error {
	var input engine.ImportInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	holds := parley.JSONHolds([]byte(input.Text))
	if holds > decodedMost {
		return parley.Errorf(
			parley.CodeTooLarge,
			"The file holds too many objects and values for one import. Split it.",
		)
	}
	if err := x.hold(int64(len(input.Text)) + holds); err != nil {
		return err
	}
	report, err := a.engine.ImportSessions(x.r.Context(), x.principal, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, report)
}
