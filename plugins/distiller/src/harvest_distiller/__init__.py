"""Read the jobs of Distiller, the web application that starts the processing of NCEM's scans."""
