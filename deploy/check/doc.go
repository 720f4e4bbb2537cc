// Package check holds the files of deploy/ against the programs and schemas that
// read them, as far as that can be done without a container engine, a cluster
// or an init system: the Dockerfile through BuildKit's own linter, the compose
// file through its reference loader, the Kubernetes manifests through strict
// decoding into Kubernetes' types, the units through systemd-analyze, the
// proxies' configuration through the proxies, and every flag, variable and
// command that they name through the binary. It is a module of its own so that
// Parley does not depend on any of that.
package check
