package main

import (
	"os"
	"strings"

	"parley"
)

// expandSecrets replaces ${NAME} by environment variables, so that the file
// holds no secret. CodeInvalid names a variable that is not set; values are
// never repeated.
func expandSecrets(field, text string, env func(string) string) (string, error) {
	var missing []string
	expanded := os.Expand(text, func(name string) string {
		value := env(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", parley.InvalidField(field, "needs the environment variable %s, which is not set", strings.Join(missing, ", "))
	}
	return expanded, nil
}
