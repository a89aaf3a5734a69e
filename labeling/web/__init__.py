"""HTTP: views, forms, the API with its serializers, problems and tokens."""
