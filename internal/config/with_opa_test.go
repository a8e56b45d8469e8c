//go:build opa

package config

const withOPA = true
