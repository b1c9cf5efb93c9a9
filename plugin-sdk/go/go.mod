module wharf-plugin

go 1.27
