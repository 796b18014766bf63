"""What has been computed: the store, chunk files, windows and the in-process reader."""
