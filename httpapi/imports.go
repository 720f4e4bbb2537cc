package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// maxImportBody bounds the body of an import: the file's text is a string in it, where quotes and line ends take two
// bytes.
const maxImportBody = 2 * engine.MaxImportText

func serveImport(a *api, x *exchange) error {
	var input engine.ImportInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if err := x.hold(int64(len(input.Text))); err != nil {
		return err
	}
	input.Hold = func(bytes int64) error {
		if bytes > decodedMost {
			return parley.Errorf(
				parley.CodeTooLarge,
				"The file holds too many objects and values for one import. Split it.",
			)
		}
		return x.hold(bytes)
	}
	report, err := a.engine.ImportSessions(x.r.Context(), x.principal, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, report)
}
