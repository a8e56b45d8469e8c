// Package examples embeds the annotated configuration file.
package examples

import _ "embed"

// Config is a callgate.yaml with every key.
//
//go:embed callgate.yaml
var Config []byte
