package checkpoint

// syncDir has nothing to do: the file system writes names through.
func syncDir(string) error { return nil }
