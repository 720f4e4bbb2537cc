package main

import (
	"encoding/json"
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/tool/httptool"
)

// httpToolSetting makes a tool of an HTTP endpoint. Secrets are in the environment: the file names their variables as
// ${NAME}.
type httpToolSetting struct {
	Name          string                     `yaml:"name"`
	Description   string                     `yaml:"description"`
	Method        string                     `yaml:"method"`
	URL           string                     `yaml:"url"`
	Headers       map[string]string          `yaml:"headers"`
	SecretHeaders map[string]string          `yaml:"secret_headers"` // with ${NAME}
	Parameters    map[string]any             `yaml:"parameters"`     // JSON Schema
	Timeout       duration                   `yaml:"timeout"`
	MaxBytes      int                        `yaml:"max_bytes"`
	AllowPrivate  bool                       `yaml:"allow_private"`
	Annotations   parley.AnnotationsOverride `yaml:"annotations"`
}

// httpTools makes the source of the configured endpoints.
func httpTools(settings []httpToolSetting, env func(string) string) (*httptool.Source, error) {
	configs := make([]httptool.Config, len(settings))
	for i, s := range settings {
		config := httptool.Config{
			Name:        s.Name,
			Description: s.Description,
			Method:      s.Method,
			URL:         s.URL,
			Header:      http.Header{},
			Secrets:     http.Header{},
			Timeout: time.Duration(
				s.Timeout,
			),
			MaxBytes:     s.MaxBytes,
			AllowPrivate: s.AllowPrivate,
			Annotations:  s.Annotations,
		}
		for name, value := range s.Headers {
			config.Header.Set(name, value)
		}
		for name, value := range s.SecretHeaders {
			secret, err := expandSecrets("http_tools."+s.Name+".secret_headers."+name, value, env)
			if err != nil {
				return nil, err
			}
			config.Secrets.Set(name, secret)
		}
		if s.Parameters != nil {
			encoded, err := json.Marshal(s.Parameters)
			if err != nil {
				return nil, parley.InvalidField("http_tools."+s.Name+".parameters", "is not a JSON Schema")
			}
			config.Parameters = encoded
		}
		configs[i] = config
	}
	return httptool.New(configs)
}
