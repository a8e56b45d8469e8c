package app

// Version is set when a release is built.
var Version = "dev"
