package main

import (
	"regexp"
	"strings"

	"example.org/parley"
)

// inBraces matches a variable in the file; a $ alone is a $.
var inBraces = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// expandSecrets replaces ${NAME} by environment variables, so that the file holds no secret. CodeInvalid names a
// variable that is not set; errors never contain values.
func expandSecrets(field, text string, env func(string) string) (string, error) {
	var missing []string
	expanded := inBraces.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2 : len(found)-1]
		value := env(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", parley.InvalidField(
			field,
			"needs the environment variable %s, which is not set",
			strings.Join(missing, ", "),
		)
	}
	return expanded, nil
}
